import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { ClientError, call, type Server } from './client.ts'
import { UsageError } from './errors.ts'
import { checkFile } from './upload.ts'

type Watermark = { watermarkId: string; createdAt: string }
type Page = { data: Watermark[]; pagination: { pagesTotal: number } }

/** Keeps the command from reading a video into memory. The service has a lower limit. */
const maxBytes = 100 * 1024 * 1024

/** Returns the text that the command prints. */
export async function runWatermarkCommand(
  command: string,
  names: string[],
  json: boolean,
  findServer: () => Server,
): Promise<string> {
  if (command === 'watermarks list') return listWatermarks(findServer(), json)
  const [name, ...more] = names
  const isOne = name !== undefined && more.length === 0
  if (command === 'watermarks add') {
    if (!isOne) throw new UsageError('Which file? kinora watermarks add FILE')
    return addWatermark(findServer(), name, json)
  }
  if (!isOne) throw new UsageError('Which watermark? kinora watermarks delete ID')
  await call(findServer(), 'DELETE', `/watermarks/${encodeURIComponent(name)}`)
  return `${name} is deleted. Videos that were created with it keep it.`
}

async function addWatermark(server: Server, path: string, json: boolean): Promise<string> {
  const { size } = await checkFile(path)
  if (size > maxBytes) throw new ClientError(`${path} is too large for a watermark.`)
  const body = new FormData()
  body.append('file', new Blob([await readFile(path)]), basename(path))
  const watermark = await call<Watermark>(server, 'POST', '/watermarks', { body })
  return json ? JSON.stringify(watermark) : watermark.watermarkId
}

async function listWatermarks(server: Server, json: boolean): Promise<string> {
  const watermarks: Watermark[] = []
  for (let page = 1, pages = 1; page <= pages; page++) {
    const query = `sortOrder=asc&pageSize=100&currentPage=${page}`
    const { data, pagination } = await call<Page>(server, 'GET', `/watermarks?${query}`)
    watermarks.push(...data)
    pages = pagination.pagesTotal
  }
  if (json) return JSON.stringify(watermarks)
  if (watermarks.length === 0) return 'There are no watermarks.'
  return watermarks.map(({ watermarkId, createdAt }) => `${watermarkId}  created ${createdAt}`).join('\n')
}

const settings = ['top', 'left', 'bottom', 'right', 'width', 'height', 'opacity']

/** Reads `ID` or `ID,right=2%,bottom=2%`. The service checks the values. */
export function readWatermark(text: string): Record<string, string> {
  const [id = '', ...rest] = text.split(',')
  const pairs = rest.map((part) => {
    const [, name, value] = /^([a-z]+)=(.+)$/.exec(part) ?? []
    if (name === undefined || value === undefined || !settings.includes(name))
      throw new UsageError(
        `--watermark must be ID or ID,NAME=VALUE…, such as ID,right=2%,bottom=2%. Names: ${settings.join(', ')}.`,
      )
    return [name, value]
  })
  return { id, ...Object.fromEntries(pairs) }
}
