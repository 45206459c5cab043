import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Server as TlsServer } from 'node:tls'
import {
  type FirstKey,
  newFirstKeys,
  newSecret,
  provideFirstKeys,
  provideSettingKeys,
} from './accounts/keys.ts'
import { type LocalKeys, provideLocalKeys } from './accounts/local-keys.ts'
import { provideSecret } from './accounts/secret-store.ts'
import { buildApp } from './app.ts'
import { createUnlessHeld } from './backups/hold.ts'
import { AcmeCertificate } from './certificates/acme-certificate.ts'
import { openCertificateFiles } from './certificates/files.ts'
import { openHttpServer } from './certificates/http-server.ts'
import type { Config } from './config.ts'
import type { Context } from './context.ts'
import { linkUrl, provideFirstLink } from './dashboard/links.ts'
import { providePassword } from './dashboard/provide-password.ts'
import { type Database, openDatabase } from './database.ts'
import { startWorker } from './jobs.ts'
import { explainDataFolderError, prepareDataFolder } from './lib/data-folder.ts'
import { DiskSpace } from './lib/disk-space.ts'
import { announceStop, drain } from './lib/drain.ts'
import { createGuardedFetch } from './lib/fetch/guarded-fetch.ts'
import { FileStoreError, type Files } from './lib/files/files.ts'
import { openFiles } from './lib/files/open.ts'
import { withHeldRemovals } from './lib/files/with-held-removals.ts'
import { withReserve } from './lib/files/with-reserve.ts'
import type { App } from './lib/http.ts'
import { listenOnAllAddresses } from './lib/listen-on-all-addresses.ts'
import { Listener } from './lib/listener.ts'
import { createLog, type Log } from './lib/log.ts'
import { createMetrics, exportDisks, exportPools } from './lib/metrics.ts'
import { openQueue } from './lib/queue.ts'
import { createRateLimit, type RateLimit } from './lib/rate-limit.ts'
import { createRequestCounter } from './lib/request-counter.ts'
import { announceService, localUrl } from './lib/running-services.ts'
import { SharedRequests } from './lib/shared-requests.ts'
import { listenError, StartError } from './lib/start-error.ts'
import { removeOrphanedWorkFolders } from './lib/work.ts'
import { findTools } from './media/ffmpeg.ts'
import { MEDIA_USER, useSandbox } from './media/sandbox.ts'
import type { Jobs } from './queues.ts'
import { effectiveSettings } from './read-config.ts'
import type { LiveContext, OpenSlice, Ports } from './slice.ts'
import { findPart, metricDefinitions, openSlices, queues, slices } from './slices.ts'

/** The service is reachable before. It is announced when its certificate is there, which usually takes seconds. */
const firstCertificateMs = 30_000

export type RunningService = {
  publicUrl: string
  newKeys: FirstKey[]
  /** For the first login to the dashboard. */
  loginLink: string | undefined
  /** For encoders. Undefined without the role `live`. */
  ports: Ports | undefined
  /** The certificate authority has not issued a certificate yet. */
  isSelfSigned: boolean
  close(): Promise<void>
}

/** Opens everything that the roles of this process need, and starts them. `stopping` ends the wait for the database. */
export async function start(config: Config, stopping: AbortSignal): Promise<RunningService> {
  const log = createLog(config.logLevel, process.stdout.isTTY === true)
  const { onClose, close } = createCloser(log)
  try {
    const certificateFiles = config.tls && (await openCertificateFiles(config.tls, log))
    if (certificateFiles) onClose(certificateFiles.close)
    const { files: store, space } = await openData(config, log)
    onClose(() => store.close())
    onClose(() => space.close())
    // The check of the tools runs while the database opens. Its error is reported where the tools are awaited.
    const needsTools = config.roles.has('worker') || config.roles.has('live')
    const tools = needsTools ? findTools(toolsOf(config)) : undefined
    tools?.catch(() => {})
    if (config.s3) await checkStore(store, config.s3)
    const database = await openDatabase(config, log, stopping)
    onClose(() => database.close())
    const files = withHeldRemovals(store, createUnlessHeld(database.locks))

    let port = config.port
    const publicUrl = () => config.publicUrl ?? `${config.tls ? 'https' : 'http'}://localhost:${port}`
    const metrics = createMetrics(metricDefinitions)
    exportPools(metrics, database.pools.list)
    exportDisks(metrics, space)
    const context = await openContext({ config, publicUrl, files, space, log, metrics }, database, onClose)
    const listener = new Listener(database.pools.direct, findPart(slices, 'listenerName')(config), log)
    await listener.open()
    onClose(() => listener.close())

    const acme = config.acme && (await openAcme(context, config.acme, database))
    const tls = certificateFiles?.certificate ?? acme?.certificate
    let ports: Ports | undefined
    const opened = openSlices({
      ...context,
      isListening: listener.isLive,
      localKeys: await openLocalKeys(context),
      ports: () => ports,
      settings: effectiveSettings(process.env),
    })
    for (const { channels } of opened) if (channels) await listener.subscribe(channels)
    const { keyedDb, reads } = database
    const limit = await openRateLimit(context, listener, onClose)
    const app = await buildApp(context, { slices: opened, tls, keyedDb, reads, limit })
    clearTemporaryFolders(context, onClose)
    if (tools && config.roles.has('worker')) {
      const worker = await startWorker({ ...context, tools: await tools })
      onClose(() => worker.close())
      await listener.subscribe({ ...worker.channels, ...context.queue.channels })
    }
    onClose(() => drain(app, config))
    tls?.follow(app.server as unknown as TlsServer)
    port = await listen(app, config, onClose)
    if (acme) await startAcme(context, acme, listener, onClose)
    for (const slice of opened) {
      const running = slice.start?.()
      if (running) onClose(() => running.close())
    }
    if (tools && config.roles.has('live')) {
      const address = app.server.address() as AddressInfo
      ports = await startLive(opened, { ...context, tools: await tools, tls, address }, onClose)
    }
    await announce(context, app, onClose)
    await acme?.whenSettled(firstCertificateMs, stopping)
    // Last, because a start that fails would not print them.
    const logins = await provideLogins(context, database)
    // A process with only the role worker gets no requests from a proxy.
    if (config.roles.has('api') || config.roles.has('live')) onClose(() => announceStop(app, config))
    return { publicUrl: publicUrl(), ...logins, ports, isSelfSigned: acme?.isSelfSigned === true, close }
  } catch (error) {
    await close()
    throw error
  }
}

type OnClose = (close: () => Promise<unknown>) => void

/** Closes in the reverse order of opening. */
function createCloser(log: Log): { onClose: OnClose; close(): Promise<void> } {
  const closers: (() => Promise<unknown>)[] = []
  return {
    onClose: (closer) => closers.push(closer),
    async close() {
      for (const closer of closers.splice(0).reverse()) {
        await closer().catch((err) => log.warn({ err }, 'closing a resource failed'))
      }
    },
  }
}

/** Opens the queue and everything else that the context needs beside the files and the database. */
async function openContext(
  parts: Pick<Context, 'config' | 'publicUrl' | 'files' | 'space' | 'log' | 'metrics'>,
  { pools, db, locks, retry }: Database,
  onClose: OnClose,
): Promise<Context> {
  const { config, log } = parts
  const now = () => new Date()
  await retry(() => provideSettingKeys(db, config.keys, now()))
  const secret = await retry(() => provideSecret(db))
  if (config.roles.has('api')) await retry(() => providePassword(db, config.adminPassword, now()))
  const queue = await retry(() =>
    openQueue<Jobs>({
      connection: pools.servers,
      queues,
      supervise: config.roles.has('worker'),
      maxConnections: pools.connections.jobs,
      onError: (err) => log.warn({ err }, 'error in the job queue'),
    }),
  )
  onClose(() => queue.close())
  const { allowPrivateNetworks } = config
  const fetch = createGuardedFetch({ allowPrivateNetworks, userAgent: 'Kinora' })
  onClose(() => fetch.close())
  return { ...parts, db, locks, queue, fetch, secret, now }
}

/** Creates the first API keys, and a link for the first login to the dashboard unless there is a password. */
async function provideLogins(
  { config, db, now, publicUrl }: Context,
  { retry }: Database,
): Promise<Pick<RunningService, 'newKeys' | 'loginLink'>> {
  if (!config.roles.has('api')) return { newKeys: [], loginLink: undefined }
  const [keys, token] = [newFirstKeys(), newSecret()]
  const newKeys = await retry(() => provideFirstKeys(db, keys, now()))
  const hasLink = await retry(() => provideFirstLink(db, token, now()))
  return { newKeys, loginLink: hasLink ? linkUrl(publicUrl(), token) : undefined }
}

/** The limits apply to all processes together. */
async function openRateLimit(context: Context, listener: Listener, onClose: OnClose): Promise<RateLimit> {
  const { rateLimits } = context.config
  if (!rateLimits || !context.config.roles.has('api')) return createRateLimit(undefined)
  const counter = createRequestCounter(rateLimits, () => context.now().getTime())
  const shared = new SharedRequests(counter, context)
  onClose(() => shared.close())
  await listener.subscribe(shared.channels)
  return createRateLimit(counter)
}

/** Every role does this: temporary folders are local, and this machine may have no worker. */
function clearTemporaryFolders({ config, log, now }: Context, onClose: OnClose): void {
  const cleared = removeOrphanedWorkFolders(config.dataDir, now()).catch((err) =>
    log.warn({ err }, 'temporary folders could not be cleared'),
  )
  onClose(() => cleared)
}

/** Returns the port, which the system chooses when the setting is 0. */
async function listen(app: App, config: Config, onClose: OnClose): Promise<number> {
  const { host, port } = config
  const protocol = config.tls || config.acme ? 'https' : 'http'
  // Fastify does not know the protocol of our server.
  const listenTextResolver = (address: string) => `Server listening at ${address.replace(/^http/, protocol)}`
  await app.listen({ host, port, listenTextResolver }).catch((error) => {
    throw listenError(error, config, 'KINORA_PORT')
  })
  if (config.host === 'localhost') onClose((await listenOnAllAddresses(config.host, app.server)).close)
  return (app.server.address() as AddressInfo).port
}

/** Starts what slices run in a process with the role `live`, and returns the ports. */
async function startLive(slices: OpenSlice[], context: LiveContext, onClose: OnClose): Promise<Ports> {
  let ports: Ports = {}
  for (const slice of slices) {
    const running = await slice.startLive?.(context)
    if (!running) continue
    onClose(() => running.close())
    ports = { ...ports, ...running.ports }
  }
  return ports
}

/** Without them, only commands on this machine need another key. */
async function openLocalKeys({ config, log }: Context): Promise<LocalKeys | undefined> {
  if (!config.roles.has('api')) return undefined
  return provideLocalKeys(config.dataDir).catch((err) => {
    log.warn({ err }, 'the keys for commands on this machine could not be written to the data folder')
    return undefined
  })
}

/** Without the file, only the command line does not find the service. */
async function announce({ config, publicUrl, log }: Context, app: App, onClose: OnClose): Promise<void> {
  if (!config.roles.has('api')) return
  try {
    const url = localUrl(app.server.address() as AddressInfo, config)
    onClose(await announceService(config.dataDir, { url, publicUrl: publicUrl() }))
  } catch (err) {
    log.warn({ err }, 'the URL of the service could not be written to the data folder')
  }
}

async function openData(config: Config, log: Log): Promise<Pick<Context, 'files' | 'space'>> {
  const { dataDir } = config
  try {
    const user = await prepareDataFolder(dataDir, MEDIA_USER, log)
    useSandbox(user && { user, files: join(dataDir, 'files'), work: join(dataDir, 'work') })
    const files = await openFiles(config)
    const space = await DiskSpace.open({ dataDir, reserve: config.diskReserve, log })
    // With an S3 store, the disk has only the database and temporary files.
    return { files: config.s3 ? files : withReserve(files, space), space }
  } catch (error) {
    throw new StartError(await explainDataFolderError(error, dataDir), { cause: error })
  }
}

const toolsOf = ({ ffmpeg, ffprobe, encodeStallMs }: Config) => ({ ffmpeg, ffprobe, stallMs: encodeStallMs })

/** A store that rejects the request is misconfigured. A store that is unreachable may start later, so it is not an error. */
async function checkStore(files: Files, { bucket, endpoint }: NonNullable<Config['s3']>) {
  await files.check().catch((error) => {
    if (!(error instanceof FileStoreError) || error.kind !== 'refused') return
    throw new StartError(`The bucket ${bucket} at ${endpoint} cannot be used: ${error.message}.`)
  })
}

const openAcme = (context: Context, acme: NonNullable<Config['acme']>, { retry }: Database) =>
  retry(() => AcmeCertificate.open(context, acme))

/** Answers the certificate authority, and then asks it for a certificate. */
async function startAcme(
  context: Context,
  acme: AcmeCertificate,
  listener: Listener,
  onClose: OnClose,
): Promise<void> {
  const server = await openHttpServer(context, acme.settings)
  onClose(server.close)
  await listener.subscribe(acme.channels)
  acme.start()
  onClose(() => acme.close())
}
