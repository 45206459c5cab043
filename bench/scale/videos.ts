import { authorization } from '../servers.ts'
import { tagsOf, wordsOf } from '../videos.ts'
import type { Operation } from './compare.ts'
import { bodyOf, get, sampleNumber, sampleVideo, send } from './requests.ts'
import type { Side } from './side.ts'

const list = (name: string, queryOf: (side: Side, n: number) => string, grows?: string): Operation => ({
  measured: `GET /videos${name}`,
  run: (side, n) => get(side, `/videos?${queryOf(side, n)}`),
  ...(grows && { grows }),
})

const number = ({ sizes }: Side, n: number) => sampleNumber(sizes.videos, n)
const encode = encodeURIComponent

/** The last page that an empty database has too. */
const farPage = ({ sizes }: Side) => Math.min(1_000, Math.floor(sizes.videos / 25))

const skips = 'skips 25,000 entries of an index'

export const lists: Operation[] = [
  list('', () => ''),
  list('?currentPage=1000', (side) => `currentPage=${farPage(side)}`, skips),
  list('?sortBy=title', () => 'sortBy=title&sortOrder=asc'),
  list('?sortBy=updatedAt', () => 'sortBy=updatedAt'),
  list('?sortBy=title&currentPage=1000', (side) => `sortBy=title&currentPage=${farPage(side)}`, skips),
  list(
    '?metadata[customer]=…',
    (side, n) => `metadata[customer]=customer-${Math.floor(number(side, n) / 20)}`,
  ),
  list(
    '?tags[]=…&metadata[customer]=…',
    (side, n) =>
      `tags[]=${tagsOf(number(side, n))[0]}&metadata[customer]=customer-${Math.floor(number(side, n) / 20)}`,
  ),
  list('?tags[]=…', (side, n) => `tags[]=${tagsOf(number(side, n))[0]}`, 'more videos have the tag'),
  list('?title=… (three words)', (side, n) => `title=${encode(wordsOf(number(side, n)).slice(1).join(' '))}`),
  list(
    '?search=… (three words)',
    (side, n) => `search=${encode(wordsOf(number(side, n)).slice(1).join(' '))}`,
  ),
  list(
    '?search=… (one word)',
    (side, n) => `search=${encode(wordsOf(number(side, n))[3]!)}`,
    'more videos match',
  ),
  list('?status=processing', () => 'status=processing', 'counts up to 5,000 videos'),
  list('?status=failed', () => 'status=failed', 'counts all failed videos'),
  { measured: 'GET /tags', run: (side) => get(side, '/tags'), grows: 'sorts all tags' },
]

/** The last of two parts, so that nothing is encoded. */
async function upload(side: Side, n: number): Promise<void> {
  const path = `/videos/${uploaded.get(side)}/source`
  const body = new FormData()
  body.append('file', new Blob([new Uint8Array(64 * 1_024)]), 'film.mp4')
  const headers = { authorization, 'content-range': `part ${n + 2}/${n + 2}` }
  await bodyOf(await fetch(side.url + path, { method: 'POST', headers, body }), path)
}

const uploaded = new WeakMap<Side, string>()

const create = async (side: Side, n: number) => {
  const payload = { title: `New video ${n}`, tags: ['garden'], metadata: [{ key: 'customer', value: 'Ada' }] }
  const { videoId } = (await send(side, 'POST', '/videos', payload)) as { videoId: string }
  uploaded.set(side, videoId)
}

export const single: Operation[] = [
  { measured: 'GET /videos/{videoId}', run: (side, n) => get(side, `/videos/${sampleVideo(side, n)}`) },
  {
    measured: 'GET /videos/{videoId}/status',
    run: (side, n) => get(side, `/videos/${sampleVideo(side, n)}/status`),
  },
  { measured: 'POST /videos', run: create },
  {
    measured: 'PATCH /videos/{videoId}',
    run: (side, n) => send(side, 'PATCH', `/videos/${sampleVideo(side, n)}`, { title: `Changed ${n}` }),
  },
  { measured: 'POST /videos/{videoId}/source, one chunk', prepare: create, run: upload },
]
