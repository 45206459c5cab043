import { readFile } from 'node:fs/promises'
import { flushCompileCache } from 'node:module'
import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { inspect } from 'node:util'
import { Authenticator } from './accounts/authenticate.ts'
import { KeyError, type NewKey, provideKeys } from './accounts/keys.ts'
import { provideSecret } from './accounts/secret-store.ts'
import { keysChannel } from './accounts/store.ts'
import { buildApp } from './app.ts'
import { type Config, readConfig } from './config.ts'
import type { Context } from './context.ts'
import { type Database, openDatabase } from './database.ts'
import { startWorker } from './jobs.ts'
import { commandName } from './lib/command-name.ts'
import { prepareDataFolder } from './lib/data-folder.ts'
import { DatabaseError } from './lib/db.ts'
import { createGuardedFetch } from './lib/fetch/guarded-fetch.ts'
import { FileStoreError, type Files } from './lib/files/files.ts'
import { openFiles } from './lib/files/open.ts'
import type { App } from './lib/http.ts'
import { listenOnAllAddresses } from './lib/listen-on-all-addresses.ts'
import { Listener } from './lib/listener.ts'
import { createLog, type Log } from './lib/log.ts'
import { createMetrics } from './lib/metrics.ts'
import { PostgresError } from './lib/postgres/open.ts'
import { openQueue } from './lib/queue.ts'
import { announceService, localUrl } from './lib/running-services.ts'
import { SettingsError } from './lib/settings.ts'
import { createWakeSignal } from './lib/wake-signal.ts'
import { removeOrphanedWorkFolders } from './lib/work.ts'
import { Ingest, type RtmpPorts } from './live/ingest.ts'
import { LadderBudget } from './live/ladder/budget.ts'
import type { Broadcasts } from './live/live-broadcast.ts'
import { liveChannel } from './live-streams/store.ts'
import { findTools, type Tools, ToolsError } from './media/ffmpeg.ts'
import { MEDIA_USER, useSandbox } from './media/sandbox.ts'
import { type Jobs, queues } from './queues.ts'

const shutdownTimeoutMs = 10_000

/** A sentence about why the service cannot start. */
class StartError extends Error {}

type RunningService = {
  publicUrl: string
  newKeys: NewKey[]
  rtmpPorts: RtmpPorts | undefined
  close(): Promise<void>
}

async function start(config: Config): Promise<RunningService> {
  const log = createLog(config.logLevel, process.stdout.isTTY === true)
  const { onClose, close } = createCloser(log)
  try {
    const tls = config.tls && (await readTls(config.tls))
    const files = await openData(config, log)
    onClose(() => files.close())
    // The check of the tools runs while the database opens. Its error is reported where the tools are awaited.
    const needsTools = config.roles.has('worker') || config.roles.has('live')
    const tools = needsTools ? findTools(toolsOf(config)) : undefined
    tools?.catch(() => {})
    if (config.s3) await checkStore(files, config.s3)
    const database = await openDatabase(config, log)
    onClose(() => database.close())

    let port = config.port
    const publicUrl = () => config.publicUrl ?? `${tls ? 'https' : 'http'}://localhost:${port}`
    const { context, newKeys } = await openContext({ config, publicUrl, files, log }, database, onClose)
    const listener = new Listener(database.connection, log)
    await listener.open()
    onClose(() => listener.close())
    const authenticator = new Authenticator(context.db, context.now, listener.isLive)
    const liveChanges = createWakeSignal()
    await listener.subscribe({
      [keysChannel]: () => authenticator.forget(),
      [liveChannel]: () => liveChanges.wake(),
    })

    const metrics = createMetrics(database.pool)
    const broadcasts: Broadcasts = new Map()
    const app = await buildApp(context, authenticator, metrics, { tls, broadcasts, liveChanges })
    clearTemporaryFolders(context, onClose)
    if (tools && config.roles.has('worker')) {
      const worker = await startWorker({ ...context, metrics, tools: await tools })
      onClose(() => worker.close())
      await listener.subscribe(worker.channels)
    }
    onClose(() => closeApp(app))
    port = await listen(app, config, onClose)
    const rtmpPorts =
      tools && config.roles.has('live')
        ? await openIngest({ ...context, broadcasts, tools: await tools }, listener, { app, tls }, onClose)
        : undefined
    await announce(context, app, onClose)
    return { publicUrl: publicUrl(), newKeys, rtmpPorts, close }
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
  parts: Pick<Context, 'config' | 'publicUrl' | 'files' | 'log'>,
  { connection, db, retry }: Database,
  onClose: OnClose,
): Promise<{ context: Context; newKeys: NewKey[] }> {
  const { config, log } = parts
  const now = () => new Date()
  const newKeys = await retry(() => provideKeys(db, config.keys, now()))
  const secret = await retry(() => provideSecret(db))
  const queue = await retry(() =>
    openQueue<Jobs>({
      connection,
      queues,
      supervise: config.roles.has('worker'),
      onError: (err) => log.warn({ err }, 'error in the job queue'),
    }),
  )
  onClose(() => queue.close())
  const { allowPrivateNetworks } = config
  const fetch = createGuardedFetch({ allowPrivateNetworks, userAgent: 'Kinora' })
  onClose(() => fetch.close())
  return { context: { ...parts, db, queue, fetch, secret, now }, newKeys }
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
  await app.listen({ host: config.host, port: config.port }).catch((error) => {
    throw new StartError(describeListenError(error, config), { cause: error })
  })
  if (config.host === 'localhost') onClose((await listenOnAllAddresses(config.host, app.server)).close)
  return (app.server.address() as AddressInfo).port
}

type Tls = Awaited<ReturnType<typeof readTls>>

/** Starts the RTMP servers, once the URL is known by which other processes reach this one. */
async function openIngest(
  context: Context & { broadcasts: Broadcasts; tools: Tools },
  listener: Listener,
  { app, tls }: { app: App; tls: Tls | undefined },
  onClose: OnClose,
): Promise<RtmpPorts> {
  const { config } = context
  const address = app.server.address() as AddressInfo
  const url = config.internalUrl ?? (tls ? `https://127.0.0.1:${address.port}` : localUrl(address, config))
  const budget = new LadderBudget(availableParallelism())
  const ingest = new Ingest({ ...context, budget }, url)
  onClose(() => ingest.close())
  await listener.subscribe(ingest.channels)
  return ingest.open(tls).catch((error) => {
    const { port = config.rtmpPort } = error as { port?: number }
    throw new StartError(describeListenError(error, { host: config.host, port }, 'KINORA_RTMP_PORT'), {
      cause: error,
    })
  })
}

/** Without the file, only the command line does not find the service. */
async function announce({ config, log }: Context, app: App, onClose: OnClose): Promise<void> {
  if (!config.roles.has('api')) return
  try {
    const url = localUrl(app.server.address() as AddressInfo, config)
    onClose(await announceService(config.dataDir, url))
  } catch (err) {
    log.warn({ err }, 'the URL of the service could not be written to the data folder')
  }
}

async function openData(config: Config, log: Log): Promise<Files> {
  const { dataDir } = config
  try {
    const user = await prepareDataFolder(dataDir, MEDIA_USER, log)
    useSandbox(user && { user, files: join(dataDir, 'files'), work: join(dataDir, 'work') })
    return await openFiles(config)
  } catch (error) {
    throw new StartError(`The data folder ${dataDir} cannot be used: ${(error as Error).message}.`, {
      cause: error,
    })
  }
}

const toolsOf = ({ ffmpeg, ffprobe, encodeStallMs }: Config) => ({ ffmpeg, ffprobe, stallMs: encodeStallMs })

/** Finishes the requests in progress, but does not wait for clients that stopped sending. */
async function closeApp(app: App): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), shutdownTimeoutMs)
  await app.close()
  clearTimeout(timer)
}

/** A store that rejects the request is misconfigured. A store that is unreachable may start later, so it is no error. */
async function checkStore(files: Files, { bucket, endpoint }: NonNullable<Config['s3']>) {
  await files.check().catch((error) => {
    if (!(error instanceof FileStoreError) || error.kind !== 'refused') return
    throw new StartError(`The bucket ${bucket} at ${endpoint} cannot be used: ${error.message}.`)
  })
}

async function readTls({ certFile, keyFile }: NonNullable<Config['tls']>) {
  const read = (file: string, setting: string) =>
    readFile(file).catch((error) => {
      throw new StartError(`The file in ${setting} cannot be read: ${error.message}.`)
    })
  const tls = { cert: await read(certFile, 'KINORA_TLS_CERT'), key: await read(keyFile, 'KINORA_TLS_KEY') }
  try {
    createSecureContext(tls)
  } catch (error) {
    const reason = (error as Error).message
    throw new StartError(
      `KINORA_TLS_CERT and KINORA_TLS_KEY are not a valid PEM certificate and its private key: ${reason}.`,
    )
  }
  return tls
}

function describeListenError(
  error: NodeJS.ErrnoException,
  { host, port }: { host: string; port: number },
  setting: 'KINORA_PORT' | 'KINORA_RTMP_PORT' = 'KINORA_PORT',
): string {
  if (error.code === 'EADDRINUSE') {
    return `Port ${port} is in use by another program: stop it, or choose another port with ${setting}.`
  }
  if (error.code === 'EACCES')
    return `This user is not allowed to use port ${port}: choose a port above 1023 with ${setting}.`
  return `Cannot listen on ${host} port ${port}: ${error.message}.`
}

function greeting({ publicUrl, newKeys, rtmpPorts }: RunningService, config: Config): string {
  const live = rtmpPorts ? `  rtmp://${new URL(publicUrl).hostname}:${rtmpPorts.rtmpPort}/s` : ''
  if (!config.roles.has('api')) return `kinora ready  ${[...config.roles].join(', ')}  ${publicUrl}${live}`
  const lines = [
    `kinora ready  api ${publicUrl}  sandbox ${publicUrl}/sandbox  docs ${publicUrl}/docs${live}`,
    '',
  ]
  for (const { environment, key } of newKeys) lines.push(`  ${environment.padEnd(10)} key  ${key}`)
  if (newKeys.length > 0) {
    lines.push(
      `  The keys are shown only once. To create more: ${commandName(process.env)} keys create --environment production --name mine`,
      '',
    )
  }
  const key = newKeys.find(({ environment }) => environment === 'production')?.key ?? '$KINORA_KEY'
  lines.push(
    'Create a video:',
    `  curl -u ${key}: ${publicUrl}/videos -H 'content-type: application/json' -d '{"title": "My first video"}'`,
    '',
  )
  return lines.join('\n')
}

/** Expected errors are shown as a sentence; any other error is a bug and is shown with its stack. */
function explain(error: unknown): string {
  if (error instanceof SettingsError) return error.problems.join('\n')
  if (
    [StartError, PostgresError, DatabaseError, KeyError, ToolsError].some((kind) => error instanceof kind)
  ) {
    return (error as Error).message
  }
  // Unlike the stack, this includes the causes.
  return inspect(error)
}

/** On Ctrl-C, the terminal and npm both send a signal. Signals within this time count as one. */
const sameSignalMs = 1_000

/** Runs until a signal arrives. A second signal ends the process at once. */
export async function serve(): Promise<void> {
  let service: Promise<RunningService> | undefined
  let stoppingSince: number | undefined
  const stop = async () => {
    if (stoppingSince !== undefined) {
      if (Date.now() - stoppingSince > sameSignalMs) process.exit(1)
      return
    }
    stoppingSince = Date.now()
    await (await service)?.close()
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop)

  try {
    const config = readConfig(process.env)
    service = start(config)
    const text = greeting(await service, config)
    if (stoppingSince === undefined) console.log(text)
    // Node writes the cache at exit by default, which a killed process never reaches.
    flushCompileCache()
  } catch (error) {
    console.error(`kinora cannot start: ${explain(error)}`)
    process.exit(1)
  }
}

if (import.meta.main) await serve()
