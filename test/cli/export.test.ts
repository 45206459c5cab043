import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { call, productionKey, runKinora, sharedKinora, temporaryFolder } from '../support/harness.ts'
import { assertSameVideo, fillLibrary } from '../support/library.ts'
import { client } from '../support/published-client.ts'
import { startS3Store } from '../support/s3-store.ts'
import { waitForEncoding, waitForPictures } from '../support/videos.ts'

const source = sharedKinora()
const target = sharedKinora({ KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })

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

test('a bucket receives the same files, only what is new, and can be imported with the same ids', async (t) => {
  const library = await fillLibrary(client(source.url), source, 2)
  for (const videoId of library.videoIds) {
    await waitForEncoding(source, videoId)
    await waitForPictures(source.database, videoId)
  }
  const { settings } = await startS3Store(t)
  const { endpoint, bucket, region, accessKey, secretKey } = settings
  const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey }
  const s3 = new S3Client({ endpoint, region, credentials, forcePathStyle: true })
  const keys = { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey }
  const at = [`s3://${bucket}/films`, '--url', endpoint, '--region', region]
  // Those of the other test are exported, too.
  assert.match(
    await run(source.url, ['export', ...at], keys),
    /^\d videos in .*, 0 of them unchanged, 0 failed\.\n$/,
  )
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: bucket }))
  const folder = `films/videos/${library.videoIds[1]}/`
  const stored = Contents.map(({ Key = '' }) => Key).filter((key) => key.startsWith(folder))
  const names = ['captions/en.vtt', 'chapters/en.vtt', 'source.mp4', 'thumbnail.jpg', 'video.json']
  assert.deepEqual(
    stored.sort(),
    names.map((name) => folder + name),
  )
  const body = async (key: string) =>
    (await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }))).Body?.transformToString()
  assert.equal(JSON.parse((await body(`${folder}video.json`)) ?? '').video.title, 'Video 1')
  assert.match((await body('films/index.csv')) ?? '', /\r\nvi\w+,Video 0,/)
  const again = await run(source.url, ['export', ...at], keys)
  assert.match(again, /^(\d) videos in .*, \1 of them unchanged, 0 failed\.\n$/)

  const first = await run(target.url, ['import', ...at], keys)
  assert.match(first, /^4 imported, 0 failed, \d skipped\.\n$/)
  for (const videoId of library.videoIds) await assertSameVideo(source, target, videoId)
  const show = async (url: string, path: string) => (await call(`${url}/${path}`)).body
  const stream = `live-streams/${library.liveStreamId}`
  const [original, copy] = [await show(source.url, stream), await show(target.url, stream)]
  assert.deepEqual([copy.streamKey, copy.playerId], [original.streamKey, library.playerId])
  const theme = await show(target.url, `players/${library.playerId}`)
  assert.deepEqual([theme.name, theme.assets.link], ['Brand', 'https://example.com/'])
  assert.equal((await call(theme.assets.logo, { key: '' })).status, 200)
  assert.match(await run(target.url, ['import', ...at], keys), /^0 imported, 0 failed, \d+ skipped\.\n$/)
})
