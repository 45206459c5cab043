import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { call, productionKey, sharedKinora, temporaryFolder } from '../support/harness.ts'
import { itemsOf, startImport, waitForImport } from '../support/library.ts'
import { ffmpeg, ffprobe, frameHashes } from '../support/media/media.ts'
import { type Exchange, sendJson, startService } from '../support/services/service-server.ts'
import { uploadVideo, waitForEncoding } from '../support/videos.ts'

// A service with the interface of api.video whose MP4s are smaller than its HLS versions: another Kinora, whose answers
// are changed on the way.

const source = sharedKinora()
const target = sharedKinora({ KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })

type Shown = {
  encoding?: { qualities: { type: string; quality: string }[] }
  assets?: { hls?: string; mp4?: string }
}

/** `hls` replaces the URL of the HLS version. The MP4 works only if there is a replacement. */
async function startLimited(t: TestContext, hls?: (base: string) => string) {
  const headers = { authorization: `Basic ${btoa(`${productionKey}:`)}` }
  const change = (body: Shown) => {
    for (const each of body.encoding?.qualities ?? []) if (each.type === 'mp4') each.quality = '144p'
    const { assets } = body
    if (!assets?.hls) return body
    if (hls) assets.hls = hls(service.url)
    else assets.mp4 = `${service.url}/none`
    return body
  }
  const respond = async (exchange: Exchange) => {
    const { path, url } = exchange
    if (path === '/encrypted.m3u8')
      return exchange.response.end('#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nmedia.m3u8\n')
    if (path === '/media.m3u8')
      return exchange.response.end(
        '#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI="k"\n#EXTINF:2,\n1.ts\n#EXT-X-ENDLIST\n',
      )
    const response = await fetch(`${source.url}${path}${url.search}`, { headers })
    sendJson(exchange, response.status, change((await response.json()) as Shown))
  }
  const service = await startService((exchange) => void respond(exchange))
  t.after(service.close)
  return service
}

async function makeFilm(t: TestContext): Promise<string> {
  const path = join(await temporaryFolder(t), 'film.mp4')
  const picture = ['-f', 'lavfi', '-i', 'testsrc=size=426x240:rate=5:duration=3']
  const sound = ['-f', 'lavfi', '-i', 'sine=duration=3']
  await ffmpeg(...picture, ...sound, '-pix_fmt', 'yuv420p', '-shortest', path)
  return path
}

const sourceOf = async (at: string, videoId: string) => {
  const headers = { authorization: `Basic ${btoa(`${productionKey}:`)}` }
  return Buffer.from(await (await fetch(`${at}/videos/${videoId}/source`, { headers })).arrayBuffer())
}

test('the HLS version is imported if it is larger than the MP4, also of a private video', async (t) => {
  const film = await makeFilm(t)
  const videoId = await uploadVideo(source, film, { title: 'Film', public: false })
  await waitForEncoding(source, videoId)
  const { url } = await startLimited(t)
  const importId = await startImport(target, { service: 'api.video', url, key: 'k', include: [] })
  await waitForImport(target, importId)
  const item = (await itemsOf(target, importId)).get(videoId)
  assert.deepEqual([item?.state, item?.notes], ['done', []], JSON.stringify(item))
  const joined = join(await temporaryFolder(t), 'joined.mp4')
  await writeFile(joined, await sourceOf(target.url, videoId))
  const streams = await ffprobe(joined, '-show_entries', 'stream=codec_type,height')
  assert.deepEqual(streams.map((line) => line.replace(/,$/, '')).sort(), ['audio', 'video,240'])
  assert.equal((await frameHashes(joined)).length, (await frameHashes(film)).length)
})

test('the MP4 is imported, with a note, if the HLS version cannot be joined', async (t) => {
  const videoId = await uploadVideo(source, await makeFilm(t), { title: 'Film' })
  await waitForEncoding(source, videoId)
  const { url } = await startLimited(t, (base) => `${base}/encrypted.m3u8`)
  const importId = await startImport(target, { service: 'api.video', url, key: 'k', include: [] })
  await waitForImport(target, importId)
  const item = (await itemsOf(target, importId)).get(videoId)
  assert.deepEqual(
    [item?.state, item?.notes],
    [
      'done',
      [
        'The MP4 was imported, although the HLS version has a higher resolution. The HLS version is encrypted.',
      ],
    ],
    JSON.stringify(item),
  )
  const { body } = await call(`${source.url}/videos/${videoId}`)
  const mp4 = Buffer.from(await (await fetch(body.assets.mp4)).arrayBuffer())
  assert.deepEqual(await sourceOf(target.url, videoId), mp4)
})
