import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { type Environment, environments } from '../environments.ts'
import { CommandError } from './errors.ts'

/** A service that the user has logged in to, with a key for one or both environments. */
export type Login = {
  url: string
  /** That of the last login, which commands use. */
  environment: Environment
  keys: Partial<Record<Environment, string>>
}

export function loginsPath(): string {
  const { XDG_CONFIG_HOME: folder } = process.env
  // The specification says that a relative path must be ignored.
  return join(folder && isAbsolute(folder) ? folder : join(homedir(), '.config'), 'kinora/config.json')
}

/** The last login first. */
export async function readLogins(): Promise<Login[]> {
  const path = loginsPath()
  const text = await readFile(path, 'utf8').catch((error) => {
    if (['ENOENT', 'ENOTDIR'].includes(error.code)) return undefined
    throw new CommandError(`${path} cannot be read: ${error.message}.`)
  })
  if (text === undefined) return []
  try {
    const { services } = JSON.parse(text)
    if (!Array.isArray(services) || !services.every(isLogin)) throw new Error('unknown content')
    return services
  } catch (cause) {
    throw new CommandError(`${path} is damaged. Remove it and log in again.`, { cause })
  }
}

const isLogin = ({ url, environment, keys }: Login) =>
  typeof url === 'string' && environments.includes(environment) && typeof keys === 'object'

/** Readers see either the old file or the new one. No other user can read it. */
export async function writeLogins(services: Login[]): Promise<void> {
  const path = loginsPath()
  const temporary = `${path}.${randomUUID()}`
  try {
    if (services.length === 0) return await rm(path, { force: true })
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeFile(temporary, `${JSON.stringify({ services }, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
    await rename(temporary, path)
  } catch (error) {
    throw new CommandError(`${path} cannot be written: ${(error as Error).message}.`, { cause: error })
  } finally {
    await rm(temporary, { force: true }).catch(() => {})
  }
}

/** Stores the key and makes its service and environment those that commands use. */
export async function addLogin(url: string, environment: Environment, key: string): Promise<void> {
  const logins = await readLogins()
  const known = logins.find((login) => login.url === url)
  const others = logins.filter((login) => login !== known)
  await writeLogins([{ url, environment, keys: { ...known?.keys, [environment]: key } }, ...others])
}
