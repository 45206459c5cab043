import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { call, productionKey, runKinora, sharedKinora, temporaryFolder } from '../support/harness.ts'
import { assertSameVideo, fillLibrary } from '../support/library.ts'
import { makeClip } from '../support/media/media.ts'
import { client } from '../support/published-client.ts'
import { startS3Store } from '../support/s3-store.ts'
import { uploadVideo, waitForEncoding, waitForPictures } from '../support/videos.ts'

const source = sharedKinora()
const target = sharedKinora()

async function run(url: string, args: string[], keys: Record<string, string> = {}) {
  const home = await temporaryFolder({ after() {} })
  const env = { HOME: home, KINORA_URL: url, KINORA_KEY: productionKey, ...keys }
  const { code, stdout, stderr } = await runKinora(args, env)
  assert.equal(code, 0, stderr)
  return stdout
}

test('everything that was exported can be imported, with the same ids', async (t) => {
  const library = await fillLibrary(client(source.url), source, 4)
  for (const videoId of library.videoIds) {
    await waitForEncoding(source, videoId)
    // A video whose thumbnail is made between two exports has changed.
    await waitForPictures(source.database, videoId)
  }
  const folder = join(await temporaryFolder(t), 'library')
  assert.match(
    await run(source.url, ['export', folder]),
    /^4 videos in .*, 0 of them unchanged, 0 failed\.\n$/,
  )
  const video = join(folder, 'videos', library.videoIds[1]!)
  assert.deepEqual((await readdir(video)).sort(), [
    'captions',
    'chapters',
    'source.mp4',
    'thumbnail.jpg',
    'video.json',
  ])
  const json = JSON.parse(await readFile(join(video, 'video.json'), 'utf8'))
  assert.deepEqual(
    [json.video.title, json.video.public, json.summary.abstract],
    ['Video 1', false, 'About 1'],
  )
  assert.match(await readFile(join(folder, 'index.csv'), 'utf8'), /\r\nvi\w+,Video 0,/)

  const again = await run(source.url, ['export', folder])
  assert.match(again, /^4 videos in .*, 4 of them unchanged, 0 failed\.\n$/)

  assert.equal(await run(target.url, ['import', 'folder', folder]), '6 imported, 0 failed, 0 skipped.\n')
  for (const videoId of library.videoIds) await assertSameVideo(source, target, videoId)
  const stream = async (url: string) => (await call(`${url}/live-streams/${library.liveStreamId}`)).body
  assert.equal((await stream(target.url)).streamKey, (await stream(source.url)).streamKey)
  const [theme] = (await call(`${target.url}/players`)).body.data
  assert.deepEqual([theme.playerId, theme.assets.link], [library.playerId, 'https://example.com/'])
  assert.equal(await run(target.url, ['import', 'folder', folder]), '0 imported, 0 failed, 6 skipped.\n')
})

test('a bucket receives the same files, and only what is new', async (t) => {
  const clip = join(await temporaryFolder(t), 'clip.mp4')
  await makeClip(clip, { size: '64x48', rate: '5', seconds: 1 })
  const videoId = await uploadVideo(source, clip, { title: 'Film' })
  await waitForEncoding(source, videoId)
  await waitForPictures(source.database, videoId)
  const { settings } = await startS3Store(t)
  const { endpoint, bucket, region, accessKey, secretKey } = settings
  const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey }
  const s3 = new S3Client({ endpoint, region, credentials, forcePathStyle: true })
  const keys = { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey }
  const args = ['export', `s3://${bucket}/films`, '--url', endpoint, '--region', region]
  assert.match(await run(source.url, args, keys), /^1 videos in .*, 0 of them unchanged, 0 failed\.\n$/)
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: bucket }))
  const at = `films/videos/${videoId}`
  // Live streams and players of other tests are exported, too.
  const others = /^films\/(players|live-streams)\//
  const stored = Contents.map(({ Key = '' }) => Key).filter((key) => !others.test(key))
  const names = ['source.mp4', 'thumbnail.jpg', 'video.json']
  assert.deepEqual(stored.sort(), ['films/index.csv', ...names.map((name) => `${at}/${name}`)])
  const read = async (key: string) => {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }))
    return Buffer.from((await Body?.transformToByteArray()) ?? [])
  }
  assert.deepEqual(await read(`${at}/source.mp4`), await readFile(clip))
  assert.equal(JSON.parse(String(await read(`${at}/video.json`))).video.title, 'Film')
  assert.match(await run(source.url, args, keys), /^1 videos in .*, 1 of them unchanged, 0 failed\.\n$/)
})
