import { readFile } from 'node:fs/promises'
import { flushCompileCache } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { Authenticator } from './accounts/authenticate.ts'
import { KeyProblem, type NewKey, provideKeys } from './accounts/keys.ts'
import { provideSecret } from './accounts/secret.ts'
import { keysChannel } from './accounts/store.ts'
import { buildApp } from './app.ts'
import { type Config, readConfig } from './config.ts'
import type { Context } from './context.ts'
import { openDatabase } from './database.ts'
import { startWorker } from './jobs.ts'
import { listenOnAllOf } from './lib/connections.ts'
import { prepareDataFolder } from './lib/data-folder.ts'
import { DatabaseProblem } from './lib/db.ts'
import { createGuardedFetch } from './lib/fetch/guarded-fetch.ts'
import { type Files, FilesProblem } from './lib/files/files.ts'
import { openFiles } from './lib/files/open.ts'
import type { App } from './lib/http.ts'
import { openListener } from './lib/listener.ts'
import { createLog, type Log } from './lib/log.ts'
import { createMetrics } from './lib/metrics.ts'
import { PostgresProblem } from './lib/postgres/open.ts'
import { openQueue } from './lib/queue.ts'
import { SettingsError } from './lib/settings.ts'
import { removeOrphanedWorkFolders } from './lib/work.ts'
import { findTools, ToolsError } from './media/ffmpeg.ts'
import { MEDIA_USER, useSandbox } from './media/sandbox.ts'
import { type Jobs, queues } from './queues.ts'

const finishWithinMs = 10_000

/** One helpful sentence about why the service cannot start. */
class StartProblem extends Error {}

type Service = { publicUrl: string; newKeys: NewKey[]; close(): Promise<void> }

async function start(config: Config): Promise<Service> {
  const log = createLog(config.logLevel, process.stdout.isTTY === true)
  const now = () => new Date()
  const closers: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) {
      await closer().catch((err) => log.warn({ err }, 'could not be closed cleanly'))
    }
  }

  try {
    const tls = config.tls && (await readTls(config.tls))
    const files = await openData(config, log)
    closers.push(files.close)
    // Beside the database, which takes as long; whoever needs the tools hears of what is wrong with them.
    const tools = config.roles.has('worker') ? findTools(toolsOf(config)) : undefined
    tools?.catch(() => {})
    if (config.s3) await checkStore(files, config.s3)
    const { connection, pool, db, retry, close: closeDatabase } = await openDatabase(config, log)
    closers.push(closeDatabase)
    const newKeys = await retry(() => provideKeys(db, config.keys, now()))
    const secret = await retry(() => provideSecret(db))

    const queue = await retry(() =>
      openQueue<Jobs>({
        connection,
        queues,
        supervise: config.roles.has('worker'),
        onError: (err) => log.warn({ err }, 'the job queue met an error'),
      }),
    )
    closers.push(queue.close)

    const authenticator = new Authenticator(db, now)
    const listener = await openListener({
      connection,
      channel: keysChannel,
      onNotification: () => authenticator.forget(),
      log,
    })
    closers.push(listener.close)
    authenticator.trust(listener.isLive)

    const fetch = createGuardedFetch({
      allowPrivateNetworks: config.allowPrivateNetworks,
      userAgent: 'Kinora',
    })
    closers.push(fetch.close)
    const context: Context = {
      config,
      publicUrl: config.publicUrl ?? '',
      db,
      queue,
      files,
      fetch,
      secret,
      log,
      now,
    }
    const metrics = createMetrics(pool)
    const app = await buildApp(context, authenticator, metrics, { tls })
    // In every role: another machine, with a work folder of its own, may have no worker.
    const cleared = removeOrphanedWorkFolders(config.dataDir, now()).catch((err) =>
      log.warn({ err }, 'work was not cleared'),
    )
    closers.push(() => cleared)
    if (tools) {
      const worker = await startWorker({ ...context, tools: await tools }, metrics)
      closers.push(worker.close)
      for (const [channel, onNotification] of Object.entries(worker.channels)) {
        const listener = await openListener({ connection, channel, onNotification, log })
        closers.push(listener.close)
      }
    }
    closers.push(() => closeApp(app))
    await app.listen({ host: config.host, port: config.port }).catch((error) => {
      throw new StartProblem(listenProblem(error, config), { cause: error })
    })
    if (config.host === 'localhost') closers.push((await listenOnAllOf(config.host, app.server)).close)
    const { port } = app.server.address() as AddressInfo
    context.publicUrl = config.publicUrl ?? `${tls ? 'https' : 'http'}://localhost:${port}`
    return { publicUrl: context.publicUrl, newKeys, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openData(config: Config, log: Log): Promise<Files> {
  const { dataDir } = config
  try {
    const user = await prepareDataFolder(dataDir, MEDIA_USER, log)
    useSandbox(user && { user, files: join(dataDir, 'files'), work: join(dataDir, 'work') })
    return await openFiles(config)
  } catch (error) {
    throw new StartProblem(`The data folder ${dataDir} cannot be used: ${(error as Error).message}.`, {
      cause: error,
    })
  }
}

const toolsOf = ({ ffmpeg, ffprobe, encodeStallMs }: Config) => ({ ffmpeg, ffprobe, stallMs: encodeStallMs })

/** Requests under way are finished, but not those of clients that do not go on. */
async function closeApp(app: App): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), finishWithinMs)
  await app.close()
  clearTimeout(timer)
}

/** A store that says no will go on saying so; one that cannot be reached may be up in a moment. */
async function checkStore(files: Files, { bucket, endpoint }: NonNullable<Config['s3']>) {
  await files.check().catch((error) => {
    if (!(error instanceof FilesProblem) || error.kind !== 'refused') return
    throw new StartProblem(`The bucket ${bucket} at ${endpoint} cannot be used: ${error.message}.`)
  })
}

async function readTls({ certFile, keyFile }: NonNullable<Config['tls']>) {
  const read = (file: string, setting: string) =>
    readFile(file).catch((error) => {
      throw new StartProblem(`The file that ${setting} names cannot be read: ${error.message}.`)
    })
  const tls = { cert: await read(certFile, 'KINORA_TLS_CERT'), key: await read(keyFile, 'KINORA_TLS_KEY') }
  try {
    createSecureContext(tls)
  } catch (error) {
    const reason = (error as Error).message
    throw new StartProblem(
      `KINORA_TLS_CERT and KINORA_TLS_KEY are not a certificate and its key in PEM form: ${reason}.`,
    )
  }
  return tls
}

function listenProblem(error: NodeJS.ErrnoException, { host, port }: Config): string {
  if (error.code === 'EADDRINUSE') {
    return `Port ${port} is taken by another program: stop it, or choose another one with KINORA_PORT.`
  }
  if (error.code === 'EACCES')
    return `Port ${port} may not be used by this user: choose one above 1023 with KINORA_PORT.`
  return `Cannot listen on ${host} port ${port}: ${error.message}.`
}

function greeting({ publicUrl, newKeys }: Service, config: Config): string {
  if (!config.roles.has('api')) return `kinora ready  ${[...config.roles].join(', ')}  ${publicUrl}`
  const lines = [`kinora ready  api ${publicUrl}  sandbox ${publicUrl}/sandbox  docs ${publicUrl}/docs`, '']
  for (const { environment, key } of newKeys) lines.push(`  ${environment.padEnd(10)} key  ${key}`)
  if (newKeys.length > 0) {
    lines.push(
      '  The keys are shown this once. More: npm run kinora -- keys create --environment production --name mine',
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

/** Sentences for a person; anything else is a fault of ours and is shown whole. */
function explain(error: unknown): string {
  if (error instanceof SettingsError) return error.problems.join('\n')
  if (
    [StartProblem, PostgresProblem, DatabaseProblem, KeyProblem, ToolsError].some(
      (kind) => error instanceof kind,
    )
  ) {
    return (error as Error).message
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** npm passes a Ctrl-C on that the terminal has sent us already: within this time both are one. */
const sameSignalMs = 1_000

/** Runs until a signal; a second one ends at once. */
export async function serve(): Promise<void> {
  let service: Promise<Service> | undefined
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
    // Otherwise it is written at the end, which a process that is killed does not have.
    flushCompileCache()
  } catch (error) {
    console.error(`kinora cannot start: ${explain(error)}`)
    process.exit(1)
  }
}

if (import.meta.main) await serve()
