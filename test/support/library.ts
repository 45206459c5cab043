import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type ApiVideoClient from '@api.video/nodejs-client'
import { call, type Service, type Target, temporaryFolder, waitFor } from './harness.ts'
import { makeClip } from './media/media.ts'
import { onePixel } from './media/one-pixel.ts'

// A library of videos with everything that an import carries over, and its comparison with another one.

export type Library = { playerId: string; liveStreamId: string; videoIds: string[]; folder: string }

/** Fills a service with videos. Every second one is private. The client is the published one. */
export async function fillLibrary(client: ApiVideoClient, { url }: Target, count: number): Promise<Library> {
  const folder = await temporaryFolder({ after() {} })
  const clip = join(folder, 'clip.mp4')
  const image = join(folder, 'image.png')
  await Promise.all([
    makeClip(clip, { size: '64x48', rate: '5', seconds: 1 }),
    writeFile(image, onePixel),
    writeFile(join(folder, 'en.vtt'), 'WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n'),
  ])
  const { playerId = '' } = await client.playerThemes.create({
    name: 'Brand',
    link: '#ff0000',
    hideTitle: true,
  })
  await client.playerThemes.uploadLogo(playerId, image, 'https://example.com/')
  const { liveStreamId } = await client.liveStreams.create({ name: 'Show', _public: false, playerId })
  const videoIds: string[] = []
  for (let n = 0; n < count; n++) {
    const { videoId } = await client.videos.create({
      title: `Video ${n}`,
      description: `The ${n}th`,
      _public: n % 2 === 0,
      tags: ['all', `n${n}`],
      metadata: [{ key: 'number', value: String(n) }],
      language: 'en',
      ...(n % 3 === 0 && { playerId }),
    } as never)
    // Each file has other bytes.
    const path = join(folder, `${n}.mp4`)
    await writeFile(path, Buffer.concat([await readFile(clip), freeBox(n)]))
    await client.videos.upload(videoId, path)
    if (n % 4 === 1) {
      await client.captions.upload(videoId, 'en', join(folder, 'en.vtt'))
      await client.captions.update(videoId, 'en', { _default: true })
      await client.chapters.upload(videoId, 'en', join(folder, 'en.vtt'))
      await client.videos.uploadThumbnail(videoId, image)
      const summary = await call(`${url}/summaries`, { method: 'POST', json: { videoId } })
      const path = `${url}/summaries/${summary.body.summaryId}/source`
      await call(path, { method: 'PATCH', json: { abstract: `About ${n}`, takeaways: ['One', 'Two'] } })
    }
    videoIds.push(videoId)
  }
  return { playerId, liveStreamId, videoIds, folder }
}

/** An MP4 box that players skip. */
function freeBox(n: number): Buffer {
  const box = Buffer.alloc(16)
  box.writeUInt32BE(16)
  box.write('free', 4)
  box.writeUInt32BE(n, 8)
  return box
}

/** Waits until an import has ended, and returns it. */
export async function waitForImport({ url }: Target, importId: string) {
  let shown: Awaited<ReturnType<typeof call>>['body']
  await waitFor(
    async () => {
      const { body } = await call(`${url}/imports/${importId}`)
      shown = body
      return !['running', 'paused'].includes(body.state)
    },
    () => JSON.stringify(shown),
    async () => JSON.stringify(shown),
  )
  return shown
}

/** All objects of an import by their ids at the service. */
export async function itemsOf({ url }: Target, importId: string) {
  const { body } = await call(`${url}/imports/${importId}/items?pageSize=100`)
  return new Map(body.data.map((item: { sourceId: string }) => [item.sourceId, item])) as Map<
    string,
    { state: string; reason: string | null; notes: string[]; objectId: string | null; kind: string }
  >
}

/** Checks that a video is the same in both services: its attributes, its file, and what belongs to it. */
export async function assertSameVideo(from: Target, to: Target, videoId: string): Promise<void> {
  const [original, copy] = await Promise.all([readVideo(from, videoId), readVideo(to, videoId)])
  assert.deepEqual(copy, original)
}

async function readVideo({ url }: Target, videoId: string) {
  const at = `${url}/videos/${videoId}`
  const { body: video } = await call(at)
  const { assets, updatedAt, ...attributes } = video
  const authorization = `Basic ${btoa('test-production-key:')}`
  const source = await fetch(`${at}/source`, { headers: { authorization } })
  const tracks = await Promise.all(
    ['captions', 'chapters'].map(async (kind) => {
      const { body } = await call(`${at}/${kind}`)
      return Promise.all(
        body.data.map(async ({ src, uri: _, ...track }: { src: string; uri: string }) => {
          const { text } = await call(src, { key: '' })
          return { ...track, text }
        }),
      )
    }),
  )
  const summaries = await call(`${url}/summaries?videoId=${videoId}`)
  const [summary] = summaries.body.data
  const text = summary && (await call(`${url}/summaries/${summary.summaryId}/source`)).body
  const bytes = Buffer.from(await source.arrayBuffer())
  return { attributes, status: source.status, sha256: hash('sha256', bytes), tracks, summary: text }
}

export const startImport = async ({ url }: Pick<Service, 'url'>, json: object): Promise<string> => {
  const { status, body, text } = await call(`${url}/imports`, { method: 'POST', json })
  assert.equal(status, 201, text)
  return body.importId
}
