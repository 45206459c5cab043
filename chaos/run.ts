import { mkdir, readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Installation, openInstallation } from '../machines/installation.ts'
import { openFiles } from '../server/lib/files/open.ts'
import { readConfig } from '../server/read-config.ts'
import { makeClip } from '../test/support/media/media.ts'
import { auditEvents } from './audit/events.ts'
import { auditLeftovers } from './audit/leftovers.ts'
import { auditRecordings } from './audit/recordings.ts'
import { auditVideos } from './audit/videos.ts'
import { Client } from './client.ts'
import { type Injected, injectFaults } from './inject.ts'
import { Ledger } from './ledger.ts'
import { broadcastShows, makeBroadcastSource, type Show, type Source } from './load/broadcasts.ts'
import { changeVideos } from './load/changes.ts'
import { expectStatus, type LoadContext } from './load/load.ts'
import { uploadVideos } from './load/uploads.ts'
import { watch } from './load/viewers.ts'
import { startReceivers } from './load/webhooks.ts'
import { createRandom } from './random.ts'
import { settle } from './settle.ts'

export type ChaosOptions = {
  seed: number
  minutes: number
  maxFaults?: number
  load?: Amount
  log: (text: string) => void
}

export type ChaosResult = { faults: Injected[]; problems: string[]; summary: Record<string, number> }

type Amount = { uploads: number; liveStreams: number; viewers: number }
/** At the same time. */
const usualLoad: Amount = { uploads: 2, liveStreams: 2, viewers: 2 }
const diskBytes = 256 * 1024 * 1024

/** Runs an installation under load, injects faults by the seed, waits until all work has ended, and audits the result. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seed, minutes, log, maxFaults = Number.POSITIVE_INFINITY, load: amount = usualLoad } = options
  const ledger = new Ledger()
  const installation = await openInstallation({
    diskBytes,
    report: log,
    env: { KINORA_LIVE_RECONNECT_SECONDS: '20', KINORA_LOG_LEVEL: 'warn' },
  })
  const closers: (() => unknown)[] = [() => installation.close()]
  try {
    const client = new Client(
      installation.api.map(({ url }) => url),
      ledger,
    )
    const stopping = new AbortController()
    const folder = join(installation.folder, 'client')
    await mkdir(folder)
    const files = await serveFiles(folder, installation.network.ownAddress)
    closers.push(() => files.server.close())
    const clip = join(folder, 'clip.mp4')
    await makeClip(clip, { size: '160x120', rate: '10', seconds: 4, audioCodec: 'aac' })
    const context: LoadContext = {
      installation,
      client,
      ledger,
      random: createRandom(seed + 1),
      clip: await readFile(clip),
      files,
      stopping: stopping.signal,
    }
    closers.push(await startReceivers(context))
    log('making the source of the broadcasts')
    const source = await makeBroadcastSource(folder)
    const shows = await createShows(context, amount.liveStreams)
    const load = [
      ...Array.from({ length: amount.uploads }, () => uploadVideos(context)),
      changeVideos(context),
      ...shows.map((show) => broadcastShows(context, source, show)),
      ...Array.from({ length: amount.viewers }, () =>
        watch(
          context,
          shows.map(({ liveStreamId }) => liveStreamId),
        ),
      ),
    ]
    const until = Date.now() + minutes * 60_000
    const faults = await injectFaults(
      { installation, ledger, random: createRandom(seed) },
      { until, maxFaults, log },
    )
    log('the faults have ended')
    reportExits(installation, ledger)
    stopping.abort()
    await Promise.all(load)
    await settle(installation, log)
    log('auditing')
    const summary = await audit(context, shows, source, folder)
    return { faults, problems: ledger.problems, summary }
  } finally {
    for (const close of closers.reverse()) await close()
  }
}

async function createShows({ client, ledger }: LoadContext, count: number): Promise<Show[]> {
  const shows: Show[] = []
  for (let i = 0; i < count; i++) {
    const created = await client.send('/live-streams', {
      method: 'POST',
      json: { name: `Show ${i}`, record: true },
    })
    if (expectStatus(ledger, 'POST /live-streams', created, 200))
      shows.push({ liveStreamId: JSON.parse(created.text).liveStreamId, connections: [] })
  }
  return shows
}

async function audit(
  context: LoadContext,
  shows: Show[],
  source: Source,
  folder: string,
): Promise<Record<string, number>> {
  const { installation, client, ledger } = context
  const files = await openFiles(readConfig({ ...installation.store.env, KINORA_DATA_DIR: folder }))
  try {
    await auditVideos(client, files, ledger)
    const frames = await auditRecordings({ client, files, folder, ledger, source }, shows)
    const { events } = await auditEvents(installation.postgres.primaryUrl(), ledger)
    const { orphans } = await auditLeftovers(installation, files, ledger)
    auditLogs(installation, ledger)
    const { sent, retried } = ledger.requests
    return {
      'requests of clients': sent,
      'requests that were repeated': retried,
      'acknowledged videos': ledger.videos.size,
      'events in the log': events,
      'frames sent': frames.sent,
      'frames lost with the process that received them': frames.excused,
      'orphaned files that the sweep removed': orphans,
    }
  } finally {
    await files.close()
  }
}

/** A service ends only if a fault ends it. */
function reportExits({ kinora }: Installation, ledger: Ledger): void {
  for (const machine of kinora)
    if (!machine.service().isRunning())
      ledger.report(`the service of ${machine.name} has ended by itself:\n${machine.output().slice(-3_000)}`)
}

function auditLogs({ kinora }: Installation, ledger: Ledger): void {
  for (const machine of kinora) {
    // The reasons of temporary failures are errors, too.
    const lines = machine.output().split('\n')
    for (const line of lines.filter((each) => /"level":"fatal"|"status":500/.test(each)).slice(0, 5))
      ledger.report(`${machine.name} logged ${line.slice(0, 500)}`)
  }
}

/** Serves a folder to the service, which fetches videos from there. */
async function serveFiles(
  folder: string,
  host: string,
): Promise<{ folder: string; url: string; server: Server }> {
  const server = createServer(async (request, response) => {
    const content = await readFile(join(folder, request.url!.slice(1))).catch(() => undefined)
    response.writeHead(content ? 200 : 404, content && { 'content-length': content.length }).end(content)
  })
  await new Promise<void>((done) => server.listen(0, host, done))
  return { folder, server, url: `http://${host}:${(server.address() as AddressInfo).port}` }
}
