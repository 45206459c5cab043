import { freePort } from '../nginx.ts'
import type { Resources } from '../servers.ts'
import { atMost, type Row } from '../table.ts'
import { Inspector } from './inspector.ts'
import { type LiveService, startLive } from './service.ts'

type Inspected = { service: LiveService; inspector: Inspector }

/** A service whose memory can be read. */
export async function startInspected(
  resources: Resources,
  folder: string,
  settings: Record<string, string>,
): Promise<Inspected> {
  const port = await freePort()
  const service = await startLive(resources, folder, {
    NODE_OPTIONS: `--inspect=127.0.0.1:${port} --inspect-publish-uid=http`,
    // It would print each connection.
    KINORA_LOG_LEVEL: 'error',
    ...settings,
  })
  const inspector = await Inspector.connect(port)
  resources.add(() => inspector.close())
  return { service, inspector }
}

/** What a round adds to the memory of the service. An earlier round warms up. */
export async function memoryAddedBy(
  inspector: Inspector,
  whom: string,
  round: () => Promise<void>,
): Promise<Row> {
  const before = await inspector.residentBytes()
  await round()
  const added = ((await inspector.residentBytes()) - before) / 2 ** 20
  return {
    measured: `memory added by ${whom}`,
    kinora: `${added.toFixed(1)} MiB`,
    goal: atMost(16, added, ' MiB'),
  }
}
