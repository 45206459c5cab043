import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { call, sharedKinora, temporaryFolder } from '../support/harness.ts'
import { itemsOf, startImport, waitForImport } from '../support/library.ts'
import { makeClip } from '../support/media/media.ts'
import { startS3Store } from '../support/s3-store.ts'

const target = sharedKinora({ KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })

test('files of a bucket are imported, with folders as tags and the captions beside them', async (t) => {
  const { settings } = await startS3Store(t)
  const { endpoint, bucket, region, accessKey, secretKey } = settings
  const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey }
  const s3 = new S3Client({ endpoint, region, credentials, forcePathStyle: true })
  const path = join(await temporaryFolder(t), 'clip.mp4')
  await makeClip(path, { size: '64x48', rate: '5', seconds: 1 })
  const clip = await readFile(path)
  const put = (key: string, body: Buffer | string) =>
    s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body }))
  await put('films/2026/one & two+ü.mp4', clip)
  await put('films/2026/one & two+ü.en.vtt', 'WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n')
  await put('films/readme.txt', 'no video')
  await put('other/film.mp4', clip)
  const request = {
    ...{ service: 's3', url: endpoint, location: `s3://${bucket}/films`, region },
    ...{ key: accessKey, secret: secretKey },
  }
  const importId = await startImport(target, request)
  const done = await waitForImport(target, importId)
  const items = await itemsOf(target, importId)
  assert.deepEqual(
    [done.state, done.items.done, items.size],
    ['completed', 1, 1],
    JSON.stringify([done, ...items]),
  )
  const [video] = (await call(`${target.url}/videos`)).body.data
  assert.deepEqual([video.title, video.tags], ['one & two+ü', ['2026']])
  const captions = await call(`${target.url}/videos/${video.videoId}/captions`)
  assert.deepEqual([captions.body.data.length, captions.body.data[0].srclang], [1, 'en'])
  assert.equal((await waitForImport(target, await startImport(target, request))).items.skipped, 1)

  await put('films/2026/one & two+ü.mp4', Buffer.concat([clip, Buffer.alloc(8)]))
  const changed = await startImport(target, request)
  await waitForImport(target, changed)
  const [item] = (await itemsOf(target, changed)).values()
  assert.match(item?.notes.join() ?? '', new RegExp(`new video beside the earlier ${video.videoId}`))
  assert.equal((await call(`${target.url}/videos`)).body.data.length, 2)
})
