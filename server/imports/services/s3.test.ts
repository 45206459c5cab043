import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServiceClient } from './client.ts'
import { ServiceError } from './errors.ts'
import { s3 } from './s3.ts'
import type { ListedObject } from './service.ts'

/** A bucket with these objects, which lists so many of them at once. */
function open(objects: Record<string, object | string>, pageSize: number) {
  const contents = (page: string[]) =>
    page.map((key) => `<Contents><Key>${key}</Key><Size>1</Size><ETag>"e"</ETag></Contents>`).join('')
  const client: Pick<ServiceClient, 'send' | 'bytes'> = {
    async send(url) {
      const { searchParams } = new URL(url)
      const isListed = (key: string) =>
        key.startsWith(searchParams.get('prefix') ?? '') && key > (searchParams.get('start-after') ?? '')
      const keys = Object.keys(objects).filter(isListed).sort()
      const page = keys.slice(0, pageSize)
      const text = `<ListBucketResult><IsTruncated>${page.length < keys.length}</IsTruncated>${contents(page)}</ListBucketResult>`
      const body = (async function* () {
        yield Buffer.from(text)
      })()
      return { status: 200, headers: {}, url, cancel() {}, body }
    },
    async bytes(url) {
      const found = objects[decodeURIComponent(new URL(url).pathname).replace('/films/', '')]
      if (found === undefined) throw new ServiceError('There is no such object.', { status: 404 })
      return Buffer.from(typeof found === 'string' ? found : JSON.stringify(found))
    },
  }
  const options = {
    keepIds: true,
    include: ['players' as const],
    location: 's3://films',
    url: 'http://store',
  }
  const credentials = { key: 'key', secret: 'secret' }
  return s3.open({ account: 'store/films', options, credentials }, client as ServiceClient)
}

async function listItems(objects: Record<string, object | string>, pageSize: number) {
  const library = open(objects, pageSize)
  const found: ListedObject[] = []
  for (let cursor: string | null = null, isFirst = true; isFirst || cursor !== null; isFirst = false) {
    const { items, next } = await library.list(cursor)
    found.push(...items)
    cursor = next
  }
  return found
}

const listAll = async (objects: Record<string, object | string>, pageSize: number) =>
  (await listItems(objects, pageSize)).map(({ kind, id }) => `${kind} ${id}`)

const exported = {
  'index.csv': '',
  'live-streams/li1/live-stream.json': { liveStreamId: 'li1', name: 'Show' },
  'players/pl1/logo.png': '',
  'players/pl1/player.json': { playerId: 'pl1', name: 'Brand' },
  'videos/vi1/captions/en.vtt': '',
  'videos/vi1/source.mp4': '',
  'videos/vi1/video.json': { video: { videoId: 'vi1', title: 'One' }, file: 'source.mp4' },
  'videos/vi2/source.webm': '',
  'videos/vi2/video.json': { video: { videoId: 'vi2' }, file: 'source.webm' },
}

test('an export is listed once, with player themes first, wherever its pages end', async () => {
  for (const pageSize of [1, 2, 3, 100])
    assert.deepEqual(await listAll(exported, pageSize), ['player pl1', 'video vi1', 'video vi2'])
})

test('files that no export describes, and descriptions that are none, are plain files', async () => {
  const files = {
    'a/source.mp4': '',
    'b/source.mp4': '',
    'b/video.json': 'no JSON',
    'c/film.mp4': '',
    'c/video.json': { title: 'of another program' },
  }
  for (const pageSize of [1, 100])
    assert.deepEqual(await listAll(files, pageSize), [
      'video a/source.mp4',
      'video b/source.mp4',
      'video c/film.mp4',
    ])
})

test('what belongs to a file is found wherever the pages end', async () => {
  const texts = { 'a.mp4': '', 'b.mp4': '', 'c.en.vtt': '', 'c.mp4': '', 'd/e.mp4': '', 'd/e.de.srt': '' }
  for (const pageSize of [2, 3, 4, 5, 100]) {
    const found = await listItems(texts, pageSize)
    const tracks = found.map(({ id, details }) => [id, (details.tracks as { key: string }[])[0]?.key])
    assert.deepEqual(tracks, [
      ['a.mp4', undefined],
      ['b.mp4', undefined],
      ['c.mp4', 'c.en.vtt'],
      ['d/e.mp4', 'd/e.de.srt'],
    ])
  }
  const logos = Object.fromEntries(
    ['pl1', 'pl2', 'pl3'].flatMap((id) => [
      [`players/${id}/logo.png`, ''],
      [`players/${id}/player.json`, { playerId: id }],
    ]),
  )
  for (const pageSize of [3, 4, 100]) {
    const found = await listItems(logos, pageSize)
    assert.deepEqual(
      found.map(({ details }) => details.file),
      ['logo.png', 'logo.png', 'logo.png'],
    )
  }
})
