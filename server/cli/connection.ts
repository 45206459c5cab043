import { type LocalKeys, readLocalKeys } from '../accounts/local-keys.ts'
import type { Environment } from '../environments.ts'
import { commandName } from '../lib/command-name.ts'
import { findRunningService } from '../lib/running-services.ts'
import { readClientConfig } from '../read-config.ts'
import type { Server } from './client.ts'
import { CommandError, UsageError } from './errors.ts'
import { type Login, loginsPath, readLogins } from './logins.ts'

/** What the URL or the key comes from, as `kinora whoami` shows it. */
type Source = string

/** The service that a command calls, and why this one. */
export type Connection = Server & { urlFrom: Source; keyFrom: Source }

type Wanted = { environment: Environment | undefined; warn: Server['warn'] }

const defaultUrl = 'http://localhost:8080'
const sandboxPath = /\/sandbox$/

/** A URL of the sandbox accepts its keys only. Both environments have the same keys and login. */
export const baseOf = (url: string) => url.replace(sandboxPath, '')

/**
 * Finds the service and its key: in environment variables, else that of the last login, else the one that runs on the data
 * folder. A stored key is used for its own URL only.
 */
export async function findServer(wanted: Wanted): Promise<Connection> {
  const { cli, dataDir, warnings } = readClientConfig(process.env)
  for (const warning of warnings) wanted.warn(warning)
  if (cli.key !== undefined) {
    if (wanted.environment !== undefined)
      throw new UsageError('KINORA_KEY decides the environment: unset it, or leave out --environment.')
    return { ...(await findUrl(cli.url, dataDir, wanted)), key: cli.key, keyFrom: 'KINORA_KEY' }
  }
  const logins = await readLogins()
  if (cli.url !== undefined) return findByUrl(cli.url, { logins, dataDir, wanted })
  const [login] = logins
  if (login) return connectTo(login, login.url, wanted, loginsPath())
  return findLocal(dataDir, wanted)
}

/** With a key from the environment: its URL, or the service of the data folder, or the default one. */
async function findUrl(url: string | undefined, dataDir: string, { warn }: Wanted) {
  const common = { hasAnswered: false, warn, adviceAgainst401: 'Check KINORA_KEY.' }
  if (url !== undefined) return { ...common, url, urlFrom: 'KINORA_URL', advice: 'Check KINORA_URL.' }
  const { url: found, ignored } = await findRunningService(dataDir)
  if (found !== undefined)
    return { ...common, url: found, urlFrom: dataDir, advice: 'Set KINORA_URL to use another service.' }
  const none = `No service is running on ${dataDir}: start it, or set KINORA_URL to the URL of the service.`
  const advice = [ignored, none].filter(Boolean).join(' ')
  return { ...common, url: defaultUrl, urlFrom: 'default', advice }
}

type Known = { logins: Login[]; dataDir: string; wanted: Wanted }

async function findByUrl(url: string, { logins, dataDir, wanted }: Known): Promise<Connection> {
  const isSandbox = sandboxPath.test(url)
  if (isSandbox && wanted.environment === 'production')
    throw new UsageError('KINORA_URL is a URL of the sandbox: change it, or leave out --environment.')
  const inEnvironment = isSandbox ? { ...wanted, environment: 'sandbox' as const } : wanted
  const base = baseOf(url)
  const login = logins.find((each) => each.url === base)
  if (login) return connectTo(login, url, inEnvironment, 'KINORA_URL')
  const running = await findRunningService(dataDir)
  const isLocal = base === running.url || base === running.publicUrl
  const keys = isLocal ? await readLocalKeys(dataDir) : undefined
  if (keys && running.url) return connectLocally(running.url, keys, dataDir, inEnvironment)
  throw new CommandError(`There is no API key for ${url}. Run "${loginTo(base)}", or set KINORA_KEY.`)
}

function connectTo(login: Login, url: string, { environment, warn }: Wanted, urlFrom: Source): Connection {
  const chosen = environment ?? login.environment
  const key = login.keys[chosen]
  if (key === undefined)
    throw new CommandError(`There is no ${chosen} key for ${login.url}. Run "${loginTo(login.url)}".`)
  return {
    ...{ url, key, urlFrom, keyFrom: loginsPath(), hasAnswered: false, warn },
    advice:
      urlFrom === 'KINORA_URL' ? 'Check KINORA_URL.' : `Run "${loginTo('URL')}" to use another service.`,
    adviceAgainst401: `Run "${loginTo(login.url)}".`,
  }
}

async function findLocal(dataDir: string, wanted: Wanted): Promise<Connection> {
  const { url, ignored } = await findRunningService(dataDir)
  const keys = url === undefined ? undefined : await readLocalKeys(dataDir)
  if (url !== undefined && keys) return connectLocally(url, keys, dataDir, wanted)
  if (url !== undefined || ignored !== undefined) {
    const reason = ignored ?? `The service at ${url} belongs to another user.`
    throw new CommandError(
      `${reason} Run the command as the user of the service, or run "${loginTo(url ?? 'URL')}".`,
    )
  }
  const start = `${commandName(process.env)} start`
  throw new CommandError(
    `No service is running on ${dataDir}. Start it with "${start}", or use another one with "${loginTo('URL')}".`,
  )
}

const connectLocally = (
  url: string,
  keys: LocalKeys,
  dataDir: string,
  { environment, warn }: Wanted,
): Connection => ({
  ...{ url, key: keys[environment ?? 'production'], urlFrom: dataDir, keyFrom: dataDir },
  ...{ hasAnswered: false, warn, advice: 'Set KINORA_URL to use another service.' },
  adviceAgainst401: `Run "${loginTo(url)}".`,
})

const loginTo = (url: string) => `${commandName(process.env)} login ${url}`
