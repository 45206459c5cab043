import { setTimeout as delay } from 'node:timers/promises'
import { commandName } from '../lib/command-name.ts'
import { call, type Server } from './client.ts'
import type { Output } from './command.ts'
import { formatImport, type Import, isActive } from './import-status.ts'
import { drawOn } from './status.ts'

const pollMs = 1_000

/** Shows an import until it has ended. */
export async function followImport(server: Server, started: Import, output: Output): Promise<void> {
  const show = output.isJson ? () => {} : drawOn(process.stderr)
  let shown = started
  show(formatImport(shown))
  while (isActive(shown)) {
    await delay(pollMs)
    shown = await call<Import>(server, 'GET', `/imports/${started.importId}`)
    show(formatImport(shown))
  }
  output.print(describeEnd(shown), shown)
  if (shown.state === 'failed' || shown.items.failed > 0) process.exitCode = 1
}

function describeEnd({ importId, state, failure, items }: Import): string {
  const kinora = commandName(process.env)
  if (state === 'ready') return `To import it: ${kinora} import resume ${importId}`
  if (failure !== undefined) return `The list cannot be read: ${failure}`
  const advice =
    items.failed > 0 ? ` What has failed, and why: ${kinora} import status ${importId} --failed` : ''
  return `${items.done} imported, ${items.failed} failed, ${items.skipped} skipped.${advice}`
}
