import { setTimeout as delay } from 'node:timers/promises'
import { ClientProblem, call, type Server } from './client.ts'

type Quality = { type: string; quality: string; status: string; progress?: number; failure?: string }
type Status = {
  ingest: { status: string; failure?: string } | null
  encoding: { playable: boolean; qualities: Quality[] }
}

const lookEveryMs = 500
const width = 30

const isOver = ({ status }: Quality) => status === 'encoded' || status === 'failed'

export const findStatus = (server: Server, videoId: string) =>
  call<Status>(server, 'GET', `/videos/${encodeURIComponent(videoId)}/status`)

export async function retryVideo(server: Server, videoId: string): Promise<string> {
  await call(server, 'POST', `/videos/${encodeURIComponent(videoId)}/retry`)
  return `What failed of ${videoId} is encoded again: kinora videos status ${videoId} --watch`
}

/** One line for each quality. */
export function showStatus({ ingest, encoding }: Status): string {
  if (ingest === null) return 'Nothing has been uploaded yet.'
  if (ingest.failure !== undefined) return `The source could not be fetched: ${ingest.failure}`
  if (encoding.qualities.length === 0) return `The source is ${ingest.status}; nothing is encoded yet.`
  return encoding.qualities.map(showQuality).join('\n')
}

function showQuality({ type, quality, status, progress = 0, failure }: Quality): string {
  const filled = Math.round((width * progress) / 100)
  const bar = '█'.repeat(filled) + '░'.repeat(width - filled)
  const name = `${type} ${quality}`.padEnd(9)
  return `${name}  ${bar} ${String(progress).padStart(3)} %  ${status}${failure ? `: ${failure}` : ''}`
}

/** A terminal breaks lines that are longer than it is wide; one that does not tell its width is taken for wide. */
function rowsOf(text: string, columns: number): number {
  const rows = text.split('\n').map((line) => Math.max(1, Math.ceil(line.length / (columns || Infinity))))
  return rows.reduce((sum, each) => sum + each, 0)
}

/** Draws the status again and again until there is nothing more to wait for. Elsewhere than on a terminal, changes. */
export async function watchStatus(server: Server, videoId: string, out: NodeJS.WriteStream): Promise<Status> {
  let shown = ''
  for (;;) {
    const status = await findStatus(server, videoId)
    const text = showStatus(status)
    if (text !== shown) {
      const up = rowsOf(shown, out.columns)
      out.write(shown && out.isTTY ? `\x1b[${up}A\x1b[J${text}\n` : `${text}\n`)
      shown = text
    }
    const { qualities } = status.encoding
    if (qualities.length > 0 && qualities.every(isOver)) return status
    if (status.ingest === null) throw new ClientProblem('There is nothing to watch.')
    await delay(lookEveryMs)
  }
}
