import { setTimeout as delay } from 'node:timers/promises'
import { ClientError, call, type Server } from './client.ts'

type Progress = { status: string; progress?: number; failure?: string }
type Quality = Progress & { type: string; quality: string }
type Status = {
  ingest: { status: string; failure?: string } | null
  encoding: { playable: boolean; qualities: Quality[] }
  transcript: Progress | null
}

const pollIntervalMs = 500
const barWidth = 30

const isFinished = ({ status }: Quality) => status === 'encoded' || status === 'failed'

export const findStatus = (server: Server, videoId: string) =>
  call<Status>(server, 'GET', `/videos/${encodeURIComponent(videoId)}/status`)

export async function retryVideo(server: Server, videoId: string): Promise<string> {
  await call(server, 'POST', `/videos/${encodeURIComponent(videoId)}/retry`)
  return `The failed qualities of ${videoId} are encoded again. To follow: kinora videos status ${videoId} --watch`
}

/** Also retries a transcript that failed. */
export async function transcribeVideo(
  server: Server,
  videoId: string,
  { language, summary }: { language: string | undefined; summary: boolean },
): Promise<string> {
  const body = { transcript: true, language, ...(summary && { transcriptSummary: true }) }
  const headers = { 'content-type': 'application/json' }
  const path = `/videos/${encodeURIComponent(videoId)}`
  await call(server, 'PATCH', path, { headers, body: JSON.stringify(body) })
  return `The speech in ${videoId} will be transcribed. To follow: kinora videos status ${videoId}`
}

export async function restoreVideo(server: Server, videoId: string): Promise<string> {
  const { assets } = await call<Video>(server, 'PATCH', `/discarded/videos/${encodeURIComponent(videoId)}`, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ discarded: false }),
  })
  return `${videoId} is restored: ${assets?.player}`
}

type Video = {
  videoId: string
  title: string
  createdAt: string
  deletesAt: string | null
  assets: { player: string } | null
}

const maxListed = 100

/** The newest videos, newest last, and how many there are. */
export async function findVideos(
  server: Server,
  { areDiscarded }: { areDiscarded: boolean },
): Promise<{ videos: Video[]; total: number }> {
  const path = areDiscarded ? '/discarded/videos' : '/videos'
  const { data, pagination } = await call<{ data: Video[]; pagination: { itemsTotal: number } }>(
    server,
    'GET',
    `${path}?sortBy=createdAt&sortOrder=desc&pageSize=${maxListed}`,
  )
  return { videos: data.toReversed(), total: pagination.itemsTotal }
}

/** Control characters in a title could change what the terminal shows. */
export function formatVideo({ videoId, title, createdAt, deletesAt }: Video): string {
  const end = deletesAt === null ? '' : `  deletes ${deletesAt}`
  return `${createdAt}  ${videoId}${end}  ${title.replaceAll(/\p{Cc}/gu, ' ')}`.trimEnd()
}

/** One line for each quality, and one for the transcript. */
export function formatStatus({ ingest, encoding, transcript }: Status): string {
  if (ingest === null) return 'Nothing has been uploaded yet.'
  if (ingest.failure !== undefined) return `The source could not be fetched: ${ingest.failure}`
  if (encoding.qualities.length === 0) return `The source is ${ingest.status}; nothing is encoded yet.`
  const lines = encoding.qualities.map((quality) => formatLine(`${quality.type} ${quality.quality}`, quality))
  return [...lines, ...(transcript ? [formatLine('transcript', transcript)] : [])].join('\n')
}

function formatLine(name: string, { status, progress = 0, failure }: Progress): string {
  const filled = Math.round((barWidth * progress) / 100)
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled)
  return `${name.padEnd(9)}  ${bar} ${String(progress).padStart(3)} %  ${status}${failure ? `: ${failure}` : ''}`
}

/** A terminal wraps long lines. Without a known width, lines count as one row each. */
function rowsOf(text: string, columns: number): number {
  const rows = text.split('\n').map((line) => Math.max(1, Math.ceil(line.length / (columns || Infinity))))
  return rows.reduce((sum, each) => sum + each, 0)
}

/** Prints the status until encoding has finished: redraws it on a terminal, appends changes elsewhere. */
export async function watchStatus(server: Server, videoId: string, out: NodeJS.WriteStream): Promise<Status> {
  let shown = ''
  for (;;) {
    const status = await findStatus(server, videoId)
    const text = formatStatus(status)
    if (text !== shown) {
      const up = rowsOf(shown, out.columns)
      out.write(shown && out.isTTY ? `\x1b[${up}A\x1b[J${text}\n` : `${text}\n`)
      shown = text
    }
    const { qualities } = status.encoding
    if (qualities.length > 0 && qualities.every(isFinished)) return status
    if (status.ingest === null) throw new ClientError('There is nothing to watch.')
    await delay(pollIntervalMs)
  }
}
