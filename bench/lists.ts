import { formatMs, medianMs, withApi } from './reads.ts'
import { authorization, percentile } from './servers.ts'
import { videoOf } from './sessions.ts'
import { printTable, type Row } from './table.ts'
import { fillVideos } from './videos.ts'

const clients = 30
const pageRequests = 300

/**
 * Times lists that find many videos, or none, among a million. The reference is counting the videos in SQL, which reads
 * each entry of an index once. Then it loads player pages while many clients read the slowest lists.
 */
export async function lists([videos = '1000000']: string[]): Promise<void> {
  await withApi(async (url, client) => {
    console.log(`Inserting ${videos} videos…`)
    await fillVideos(client, 0, Number(videos))
    const count = () => client.query('select count(*) from all_videos')
    const rows: Row[] = []
    for (const path of paths(Number(videos))) {
      const countMs = await medianMs(count)
      const listMs = await medianMs(() => read(url + path))
      rows.push({
        measured: path,
        kinora: formatMs(listMs),
        reference: formatMs(countMs),
        ratio: listMs / countMs,
      })
    }
    printTable(`Lists of ${videos} videos, compared with counting them in SQL`, rows)
    printTable(`Player pages while ${clients} clients read lists, compared with an idle service`, [
      ...(await measurePages(url, Number(videos))),
    ])
  })
}

function paths(videos: number): string[] {
  const [middle, last] = [Math.ceil(videos / 200), Math.ceil(videos / 100)]
  return [
    '/videos',
    '/videos?title=part&description=part&sortBy=title&pageSize=100',
    '/videos?title=part&description=part&sortBy=title&pageSize=100&currentPage=50',
    '/videos?title=part',
    '/videos?title=e',
    '/videos?title=qz',
    '/videos?title=qz&sortBy=title',
    '/videos?search=%25',
    '/videos?search=%25&sortBy=title',
    '/videos?status=missing',
    '/videos?public=false',
    `/videos?pageSize=100&currentPage=${middle}`,
    `/videos?sortBy=title&pageSize=100&currentPage=${middle}`,
    `/videos?sortBy=title&pageSize=100&currentPage=${last}`,
  ]
}

async function measurePages(url: string, videos: number): Promise<Row[]> {
  const idle = await pageTimes(url)
  const stopping = new AbortController()
  const reading = Array.from({ length: clients }, async (_, i) => {
    const all = paths(videos)
    for (let n = i; !stopping.signal.aborted; n++) await read(url + all[n % all.length]!)
  })
  const busy = await pageTimes(url)
  stopping.abort()
  await Promise.all(reading)
  return [0.5, 0.99].map((fraction) => {
    const [before, after] = [percentile(idle, fraction), percentile(busy, fraction)]
    const row = {
      measured: `player page, p${fraction * 100}`,
      kinora: formatMs(after),
      reference: formatMs(before),
    }
    return { ...row, ratio: after / before }
  })
}

async function pageTimes(url: string): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < pageRequests; n++) {
    const start = performance.now()
    const response = await fetch(`${url}/vod/${videoOf(n)}`)
    await response.arrayBuffer()
    if (response.status !== 200) throw new Error(`a player page returned ${response.status}`)
    times.push(performance.now() - start)
  }
  return times
}

/** Lists may be refused while many clients read them. */
async function read(url: string): Promise<void> {
  const response = await fetch(url, { headers: { authorization } })
  const body = await response.text()
  if (response.status !== 200 && response.status !== 503) throw new Error(`${url}: ${body}`)
}
