import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { type ApiResponse, call, MiB, openUpload, productionKey, sendFile, type Target } from '../harness.ts'
import { loadMedia, paddedFile } from '../upgrade-fixture.ts'
import { createVideo, sourceUrl } from '../videos.ts'
import { viewing } from '../viewings.ts'
import type { Operations } from './traffic.ts'

/** Between two uploads of the same kind, which workers have to process. */
const pauseMs = 1_000

export type Content = {
  /** The file that is uploaded. */
  film: Buffer
  /** A video that is encoded. */
  videoId: string
  /** Collects the videos whose upload was completed. */
  uploaded: string[]
}

/** What clients of the API and viewers do. */
export function operations(target: Target, content: Content): Operations {
  const api = apiOf(target)
  return {
    'read and search': async () => {
      await api('GET', '/videos?pageSize=5')
      await api('GET', '/videos?title=rolling')
      await api('GET', `/videos/${content.videoId}/status`)
      await api('GET', '/events?pageSize=5')
    },
    'change videos': async () => {
      const { videoId } = await api('POST', '/videos', { title: 'rolling', tags: ['a'] })
      await api('PATCH', `/videos/${videoId}`, {
        description: 'changed',
        metadata: [{ key: 'a', value: 'b' }],
      })
      await api('DELETE', `/videos/${videoId}`)
    },
    'change other objects': async () => {
      const hook = await api('POST', '/webhooks', {
        url: 'https://example.com/',
        events: ['video.source.recorded'],
      })
      await api('DELETE', `/webhooks/${hook.webhookId}`)
      const { liveStreamId } = await api('POST', '/live-streams', { name: 'rolling' })
      await api('PATCH', `/live-streams/${liveStreamId}`, { record: false })
      await api('DELETE', `/live-streams/${liveStreamId}`)
      const { token } = await api('POST', '/upload-tokens', {})
      await api('DELETE', `/upload-tokens/${token}`)
      const { playerId } = await api('POST', '/players', { name: 'rolling' })
      await api('DELETE', `/players/${playerId}`)
    },
    ...uploads(target, content),
    'watch a video': async () => {
      await loadMedia(`${target.url}/vod/${content.videoId}/hls/manifest.m3u8`)
      await assertStatus(await call(`${target.url}/vod/${content.videoId}`, { key: '' }), 200)
    },
    'report a viewing': async () => {
      const { event, report } = viewing(content.videoId)
      const body = JSON.stringify(report([event(1, 'ready', { at: 0 }), event(2, 'play', { at: 0 })]))
      const headers = { 'content-type': 'text/plain;charset=UTF-8' }
      const options = { method: 'POST', key: '', headers, body }
      assertStatus(await call(`${target.url}/collector/vod`, options), 200)
    },
  }
}

function uploads(target: Target, { film, uploaded }: Content): Operations {
  const { firstChunk, range } = paddedFile(film)
  const rest = Buffer.alloc(1_000)
  return {
    'upload in one request': async () => {
      const videoId = await createVideo(target, { title: 'one request' })
      assertStatus(await sendFile(sourceUrl(target, videoId), film), 201)
      uploaded.push(videoId)
      await delay(pauseMs)
    },
    'upload slowly': async () => {
      const videoId = await createVideo(target, { title: 'slowly' })
      const upload = openUpload(sourceUrl(target, videoId), film)
      for (let sent = 0; sent < film.length; sent += film.length / 10) {
        await upload.write(film.length / 10)
        await delay(100)
      }
      assertStatus(await upload.end(), 201)
      uploaded.push(videoId)
      await delay(pauseMs)
    },
    'upload in chunks': async () => {
      const videoId = await createVideo(target, { title: 'chunks' })
      assertStatus(await sendFile(sourceUrl(target, videoId), firstChunk, { range }), 201)
      await delay(200)
      const last = `bytes ${5 * MiB}-${5 * MiB + rest.length - 1}/${5 * MiB + rest.length}`
      assertStatus(await sendFile(sourceUrl(target, videoId), rest, { range: last }), 201)
      uploaded.push(videoId)
      await delay(pauseMs)
    },
    'upload over tus': async () => {
      const tus = { 'tus-resumable': '1.0.0' }
      const headers = { ...tus, 'upload-length': String(film.length) }
      const created = assertStatus(await call(`${target.url}/tus`, { method: 'POST', headers }), 201)
      const location = new URL(created.headers.get('location')!)
      const half = Math.floor(film.length / 2)
      for (const [from, to] of [
        [0, half],
        [half, film.length],
      ] as const) {
        const response = await fetch(`${target.url}${location.pathname}`, {
          method: 'PATCH',
          headers: {
            ...tus,
            'upload-offset': String(from),
            'content-type': 'application/offset+octet-stream',
          },
          body: new Uint8Array(film.subarray(from, to)),
        })
        assert.equal(response.status, 204, await response.text())
        await delay(200)
      }
      uploaded.push(/\/tus\/(vi\w{22})-/.exec(location.pathname)![1]!)
      await delay(pauseMs)
    },
  }
}

function assertStatus(response: ApiResponse, status: number): ApiResponse {
  assert.equal(response.status, status, `${response.status} ${response.text.slice(0, 300)}`)
  return response
}

const apiOf =
  ({ url, key = productionKey }: Target) =>
  async (method: string, path: string, json?: object) => {
    const response = await call(url + path, { method, key, ...(json && { json }) })
    assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${response.text.slice(0, 300)}`)
    return response.body
  }
