import { setTimeout as delay } from 'node:timers/promises'
import { ClientError, call, callOnce, type Server } from './client.ts'

type Progress = { status: string; progress?: number; failure?: string }
type Quality = Progress & { type: string; quality: string }
export type Status = {
  ingest: {
    status?: string
    failure?: string
    receivedBytes?: { from: number; to: number }[]
  } | null
  encoding: { playable: boolean; qualities: Quality[] }
  transcript: Progress | null
}

const pollIntervalMs = 500
const barWidth = 30

const isFinished = ({ status }: Quality) => status === 'encoded' || status === 'failed'

export const hasFailed = ({ ingest, encoding }: Status) =>
  ingest?.failure !== undefined || encoding.qualities.some(({ status }) => status === 'failed')

const statusPath = (videoId: string) => `/videos/${encodeURIComponent(videoId)}/status`

export const findStatus = (server: Server, videoId: string) =>
  call<Status>(server, 'GET', statusPath(videoId))

/** One line for each quality, and one for the transcript. */
export function formatStatus({ ingest, encoding, transcript }: Status): string {
  if (ingest === null) return 'Nothing has been uploaded yet.'
  // An upload keeps its status.
  if (ingest.failure !== undefined)
    return ingest.status ? ingest.failure : `The source could not be fetched: ${ingest.failure}`
  if (encoding.qualities.length === 0) return `The source is ${ingest.status}; nothing is encoded yet.`
  const lines = encoding.qualities.map((quality) => formatLine(`${quality.type} ${quality.quality}`, quality))
  return [...lines, ...(transcript ? [formatLine('transcript', transcript)] : [])].join('\n')
}

export function bar(share: number): string {
  const filled = Math.floor(barWidth * share)
  return '█'.repeat(filled) + '░'.repeat(barWidth - filled)
}

function formatLine(name: string, { status, progress = 0, failure }: Progress): string {
  return `${name.padEnd(9)}  ${bar(progress / 100)} ${String(progress).padStart(3)} %  ${status}${failure ? `: ${failure}` : ''}`
}

/** Shows the status while a file is uploaded. Errors are ignored: the upload has the same ones, and reports them. */
export async function watchUpload(
  server: Server,
  videoId: string,
  show: (status: Status) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const status = await callOnce<Status>(server, 'GET', statusPath(videoId), { signal }).catch(() => {})
    if (status && !signal.aborted) show(status)
    await delay(pollIntervalMs, undefined, { signal }).catch(() => {})
  }
}

/** Shows the status until encoding has finished. Returns the last one. */
export async function watchStatus(
  server: Server,
  videoId: string,
  show: (status: Status) => void,
): Promise<Status> {
  for (;;) {
    const status = await findStatus(server, videoId)
    show(status)
    const { qualities } = status.encoding
    if (qualities.length > 0 && qualities.every(isFinished)) return status
    if (status.ingest?.failure !== undefined) return status
    if (status.ingest === null) throw new ClientError('There is nothing to watch.')
    await delay(pollIntervalMs)
  }
}

/** Why nothing of the source can be played. Undefined while something can, or may be later. */
export function findRejection({ ingest, encoding: { qualities } }: Status): string | undefined {
  const isDead = qualities.length > 0 && qualities.every(({ status }) => status === 'failed')
  return ingest?.failure ?? (isDead ? qualities[0]!.failure : undefined)
}

/** Half a minute without any change: no worker may be running. */
const maxIdlePolls = 60

/** Waits until the service has examined the source, as long as there is progress. Returns the last status. */
export async function waitUntilExamined(server: Server, videoId: string): Promise<Status> {
  let last = ''
  for (let idlePolls = 0; ; idlePolls++) {
    const status = await findStatus(server, videoId)
    if (status.encoding.qualities.length > 0 || status.ingest?.failure !== undefined) return status
    const text = JSON.stringify(status)
    if (text !== last) idlePolls = 0
    if (idlePolls === maxIdlePolls) return status
    last = text
    await delay(pollIntervalMs)
  }
}

/** Redraws text on a terminal; appends each change elsewhere. */
export function drawOn(out: NodeJS.WriteStream): (text: string) => void {
  let shown = ''
  return (text) => {
    if (text === shown) return
    const up = rowsOf(shown, out.columns)
    out.write(shown && out.isTTY ? `\x1b[${up}A\x1b[J${text}\n` : `${text}\n`)
    shown = text
  }
}

/** A terminal wraps long lines. Without a known width, lines count as one row each. */
function rowsOf(text: string, columns: number): number {
  const rows = text.split('\n').map((line) => Math.max(1, Math.ceil(line.length / (columns || Infinity))))
  return rows.reduce((sum, each) => sum + each, 0)
}
