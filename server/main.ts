import { flushCompileCache } from 'node:module'
import { inspect } from 'node:util'
import { KeyError } from './accounts/keys.ts'
import type { Config } from './config.ts'
import { commandName } from './lib/command-name.ts'
import { DatabaseError } from './lib/database/errors.ts'
import { maxStopMs } from './lib/drain.ts'
import { PostgresError } from './lib/postgres/open.ts'
import { SettingsError } from './lib/settings.ts'
import { StartError } from './lib/start-error.ts'
import { ToolsError } from './media/ffmpeg.ts'
import { readConfig } from './read-config.ts'
import { type RunningService, start } from './start.ts'

function greeting(running: RunningService, config: Config): string {
  const { publicUrl, newKeys, loginLink, ports } = running
  const liveUrls = ['rtmp', 'rtmps', 'srt'].flatMap((protocol) => {
    const path = protocol === 'srt' ? '' : '/s'
    return ports?.[protocol] ? [`${protocol}://${new URL(publicUrl).hostname}:${ports[protocol]}${path}`] : []
  })
  const live = liveUrls.length > 0 ? `  live ${liveUrls.join('  ')}` : ''
  if (!config.roles.has('api')) return `kinora ready  ${[...config.roles].join(', ')}  ${publicUrl}${live}`
  const lines = [
    `kinora ready  api ${publicUrl}  sandbox ${publicUrl}/sandbox  docs ${publicUrl}/docs  dashboard ${publicUrl}/dashboard${live}`,
    '',
  ]
  if (running.isSelfSigned)
    lines.push('The certificate is self-signed until the certificate authority issues one.', '')
  if (loginLink) lines.push('Open the dashboard with this link, which works once:', `  ${loginLink}`, '')
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

/** A database or a file store that does not answer must not keep the process running. Ending it loses nothing. */
const defaultMaxStopMs = 30_000

/** Runs until a signal arrives. A second signal ends the process at once. */
export async function serve(): Promise<void> {
  let service: Promise<RunningService> | undefined
  const stopping = new AbortController()
  let stoppingSince: number | undefined
  let stopMs = defaultMaxStopMs
  const stop = async () => {
    if (stoppingSince !== undefined) {
      if (Date.now() - stoppingSince > sameSignalMs) process.exit(1)
      return
    }
    stoppingSince = Date.now()
    setTimeout(() => {
      console.error(`kinora did not stop within ${stopMs / 1000} s and exits now`)
      process.exit(1)
    }, stopMs)
    stopping.abort()
    const running = await service?.catch(() => undefined)
    await running?.close()
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop)

  try {
    const config = readConfig(process.env)
    stopMs = maxStopMs(config)
    service = start(config, stopping.signal)
    const running = await service
    // Keys and the link are shown only once, so a service that is told to stop meanwhile prints them as well.
    const isFirst = running.newKeys.length > 0 || running.loginLink !== undefined
    if (isFirst || stoppingSince === undefined) console.log(greeting(running, config))
    // Node writes the cache at exit by default, which a killed process never reaches.
    flushCompileCache()
  } catch (error) {
    if (stopping.signal.aborted) return
    console.error(`kinora cannot start: ${explain(error)}`)
    process.exit(1)
  }
}

if (import.meta.main) await serve()
