import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ImportOptions } from '../schemas.ts'
import { apiVideo, kinora } from './api-video.ts'
import type { ServiceClient } from './client.ts'
import { ServiceError } from './errors.ts'
import type { ImportService } from './service.ts'

const options: ImportOptions = { keepIds: true, include: [] }
const video = { videoId: 'vi1', title: 'One', mp4Support: true, assets: { mp4: 'https://example.com/mp4' } }

/** A library whose service has these answers by path. */
function open(
  service: ImportService,
  answers: Record<string, object>,
  headers: Record<string, string> = {},
  chosen = options,
) {
  const client: Pick<ServiceClient, 'json' | 'file'> = {
    async json(url) {
      const { pathname } = new URL(url)
      const answer = { '/videos/vi1': video, '/videos': { data: [video] }, ...answers }[pathname]
      if (!answer) throw new ServiceError('There is no such object.', { status: 404 })
      return answer
    },
    file: async (url) => ({
      ...{ status: 200, url, headers: url.endsWith('/source') ? headers : {} },
      cancel() {},
      body: (async function* () {})(),
    }),
  }
  return service.open(
    { account: 'https://example.com', options: chosen, credentials: { key: 'key' } },
    client as ServiceClient,
  )
}

async function notesOf(answers: Record<string, object>) {
  const library = open(apiVideo, answers)
  const [item] = (await library.list('video 1')).items
  return (await library.describe(item!)).notes
}

test('an account with watermarks at api.video adds a note to each video', async () => {
  assert.match((await notesOf({ '/watermarks': { data: [{}] } })).join(), /has watermarks/)
  assert.deepEqual(await notesOf({ '/watermarks': { data: [] } }), [])
  assert.deepEqual(await notesOf({}), [])
})

test('the HLS version of api.video is larger only if the MP4 has a lower quality', async () => {
  const quality = (type: string, height: string) => ({ type, quality: height, status: 'encoded' })
  const larger = (mp4: string, service = apiVideo) => {
    const qualities = [quality('hls', '2160p'), quality('mp4', mp4)]
    const library = open(service, {
      '/videos/vi1': { ...video, assets: { hls: 'https://example.com/hls' } },
      '/videos/vi1/status': { encoding: { qualities } },
    })
    return library.findLarger?.({ kind: 'video', id: 'vi1', title: 'One', details: {} })
  }
  assert.equal(await larger('1080p'), 'https://example.com/hls')
  assert.equal(await larger('2160p'), undefined)
  // Kinora has the source.
  assert.equal(await larger('1080p', kinora), undefined)
})

test('the plays of all videos of a page of Kinora are read with one request', async () => {
  const data = [{ dimensionValue: 'vi1', metricValue: 3 }]
  const withViews = { ...options, include: ['views' as const] }
  const library = open(kinora, { '/data/buckets/play-total/media-id': { data } }, {}, withViews)
  const [item] = (await library.list('video 1')).items
  assert.match(
    (await library.describe(item!)).notes.join(),
    /^3 plays at the service until \d{4}-\d\d-\d\d\.$/,
  )
  const without = open(kinora, {}, {}, withViews)
  const [other] = (await without.list('video 1')).items
  assert.deepEqual((await without.describe(other!)).notes, [])
})

test('Kinora tells that a watermark is part of the MP4', async () => {
  const item = { kind: 'video', id: 'vi1', title: 'One', details: {} } as const
  const marked = await open(kinora, {}, { 'kinora-source-edits': 'clip, watermark' }).open(item, 0, null)
  assert.deepEqual([marked.url, marked.note], [video.assets.mp4, 'The watermark is part of the picture.'])
  const source = await open(kinora, {}).open(item, 0, null)
  assert.deepEqual([source.url, source.note], ['https://example.com/videos/vi1/source', undefined])
})
