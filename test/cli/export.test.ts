import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { call, productionKey, runKinora, sharedKinora, temporaryFolder } from '../support/harness.ts'
import { assertSameVideo, fillLibrary } from '../support/library.ts'
import { client } from '../support/published-client.ts'
import { waitForEncoding } from '../support/videos.ts'

const source = sharedKinora()
const target = sharedKinora()

async function run(url: string, args: string[]) {
  const home = await temporaryFolder({ after() {} })
  const env = { HOME: home, KINORA_URL: url, KINORA_KEY: productionKey }
  const { code, stdout, stderr } = await runKinora(args, env)
  assert.equal(code, 0, stderr)
  return stdout
}

test('everything that was exported can be imported, with the same ids', async (t) => {
  const library = await fillLibrary(client(source.url), source, 4)
  for (const videoId of library.videoIds) await waitForEncoding(source, videoId)
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
