import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { ClientError, call, listAll, type Server } from './client.ts'
import type { Output } from './command.ts'
import { formatImport, type Import } from './import-status.ts'

type Item = { kind: string; sourceId: string; title: string; state: string; reason: string | null }

/** One import, what has failed in it, or the newest imports. */
export async function showStatus(
  server: Server,
  output: Output,
  id: string | undefined,
  onlyFailed: boolean,
): Promise<void> {
  if (id === undefined) {
    const { data } = await call<{ data: Import[] }>(server, 'GET', '/imports?pageSize=10')
    output.print(data.length === 0 ? 'There are no imports.' : data.map(formatImport).join('\n\n'), data)
    return
  }
  const path = `/imports/${encodeURIComponent(id)}`
  if (onlyFailed) {
    const failed = await listAll<Item>(server, `${path}/items`, { state: 'failed' })
    output.print(failed.length === 0 ? 'Nothing has failed.' : failed.map(formatItem).join('\n'), failed)
    return
  }
  const shown = await call<Import>(server, 'GET', path)
  output.print(formatImport(shown), shown)
}

const formatItem = ({ kind, sourceId, title, reason }: Item) =>
  `${kind}  ${sourceId}  ${title}  ${reason ?? ''}`

/** A report may be larger than the memory. */
export async function downloadReport(server: Server, id: string, out: NodeJS.WriteStream): Promise<void> {
  const authorization = `Basic ${Buffer.from(`${server.key}:`).toString('base64')}`
  const response = await fetch(`${server.url}/imports/${encodeURIComponent(id)}/report`, {
    headers: { authorization },
  })
  if (!response.ok || !response.body)
    throw new ClientError(`${server.url} responded with ${response.status}: there is no report of ${id}.`)
  await pipeline(Readable.fromWeb(response.body as ReadableStream), out, { end: false })
}
