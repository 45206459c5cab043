import { constants } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { findOwner, newOwnedName } from './owner.ts'

/**
 * Each running service has a file with its URL in the data folder, so that the command line finds it. The name of the
 * file identifies the process: the file of a process that was killed is recognized and ignored.
 */
const folderOf = (dataDir: string) => join(dataDir, 'services')
const maxBytes = 4096

type Listening = {
  tls?: object | undefined
  acme?: object | undefined
  publicUrl?: string | undefined
  host: string
}

/** The URL for clients on this machine. It needs no proxy, but a certificate is valid for its host name only. */
export function localUrl(
  { address, family, port }: AddressInfo,
  { tls, acme, publicUrl, host }: Listening,
): string {
  if (tls || acme) return publicUrl ?? `https://localhost:${port}`
  if (host === 'localhost') return `http://localhost:${port}`
  const isAny = address === '0.0.0.0' || address === '::'
  if (family === 'IPv4') return `http://${isAny ? '127.0.0.1' : address}:${port}`
  return `http://[${isAny ? '::1' : address}]:${port}`
}

/** Where a process with these settings listens. The certificate may not match the host. */
export function listeningUrl({ host, port, tls, acme }: Listening & { port: number }): string {
  // A container without IPv6 can listen on ::, but has no [::1].
  const isAny = host === '0.0.0.0' || host === '::'
  const address = isAny ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `${tls || acme ? 'https' : 'http'}://${address}:${port}`
}

/** `url` is for clients on this machine, `publicUrl` for browsers. */
export type ServiceUrls = { url: string; publicUrl: string }

/** Writes the file of this process and removes those of dead ones. Returns a function that removes it. */
export async function announceService(dataDir: string, urls: ServiceUrls): Promise<() => Promise<void>> {
  const folder = folderOf(dataDir)
  await mkdir(folder, { recursive: true })
  for (const name of await readdir(folder)) {
    if ((await findOwner(name)) === 'dead') await rm(join(folder, name), { force: true })
  }
  const newPath = () => join(folder, newOwnedName())
  const [path, temporary] = [newPath(), newPath()]
  // Renamed when it is complete, so that no reader sees a part of it.
  await writeFile(temporary, JSON.stringify(urls))
  await rename(temporary, path)
  return () => rm(path, { force: true })
}

export type Search = { [K in keyof ServiceUrls]: string | undefined } & { ignored: string | undefined }

/**
 * The URLs of the service that was started last on this data folder. Commands send an API key there, so a file that another
 * user could have written is ignored; `ignored` is a sentence about it.
 */
export async function findRunningService(dataDir: string): Promise<Search> {
  const folder = folderOf(dataDir)
  const none = { url: undefined, publicUrl: undefined, ignored: undefined }
  const found = await stat(folder).catch(({ code }) => code as string)
  if (found === 'EACCES') return { ...none, ignored: `${folder} cannot be read by this user.` }
  if (typeof found === 'string') return none
  if (!isTrusted(found)) return { ...none, ignored: `${folder} belongs to another user and is ignored.` }
  const services: Announced[] = []
  for (const name of await readdir(folder).catch(() => [])) {
    const service = (await findOwner(name)) === 'alive' && (await read(join(folder, name)))
    if (service) services.push(service)
  }
  const [newest] = services.sort((a, b) => b.mtimeMs - a.mtimeMs)
  return { ...none, url: newest?.url, publicUrl: newest?.publicUrl }
}

/** Only this user and root can have written it. */
const isTrusted = ({ uid, mode }: { uid: number; mode: number }) =>
  [0, process.geteuid!()].includes(uid) && (mode & 0o022) === 0

type Announced = ServiceUrls & { mtimeMs: number }

const isUrl = (value: unknown): value is string =>
  typeof value === 'string' && /^https?:$/.test(URL.parse(value)?.protocol ?? '')

async function read(path: string): Promise<Announced | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const found = await file.stat()
    if (!found.isFile() || !isTrusted(found) || found.size > maxBytes) return undefined
    const { url, publicUrl = url } = JSON.parse(await file.readFile('utf8')) as Record<string, unknown>
    return isUrl(url) && isUrl(publicUrl) ? { url, publicUrl, mtimeMs: found.mtimeMs } : undefined
  } catch {
    // The service has just stopped, or the file is not one of ours.
    return undefined
  }
}
