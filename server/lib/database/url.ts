/** What libpq calls `target_session_attrs`. Kinora writes, so it never looks for a server that only reads. */
const targets = ['any', 'read-write', 'primary']

/** A request that gets no connection within this time fails with 503. */
const defaultConnectTimeoutMs = 5_000
/** Timers fire at once after a longer time. */
const maxTimerMs = 2 ** 31 - 1

export type DatabaseUrl = {
  /** The URL of each host, which the driver understands. */
  hosts: string[]
  /** Whether only a server that accepts writes is used. */
  mustWrite: boolean
  /** For each host. */
  connectTimeoutMs: number
}

/** Reads a URL as libpq does, also one with several hosts: `postgres://user@a:5432,b:5432/kinora`. */
export function parseDatabaseUrl(url: string): DatabaseUrl {
  const hosts = splitHosts(url)
  const parameters = parametersOf(url)
  // The default of libpq is `any`, with which Kinora would not work if the first host is a replica.
  const target = parameters.get('target_session_attrs') ?? (hosts.length > 1 ? 'read-write' : 'any')
  if (!targets.includes(target))
    throw new RangeError(`target_session_attrs must be one of ${targets.join(', ')}, not "${target}"`)
  const seconds = Number(parameters.get('connect_timeout'))
  return {
    hosts,
    mustWrite: target !== 'any',
    connectTimeoutMs: seconds > 0 ? Math.min(seconds * 1_000, maxTimerMs) : defaultConnectTimeoutMs,
  }
}

const parametersOf = (url: string) => new URLSearchParams(/\?([^#]*)/.exec(url)?.[1])

/** The hosts are in the authority of the URL, or in its parameters. */
function splitHosts(url: string): string[] {
  const [, before, authority, after] = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/.exec(url) ?? []
  if (authority?.includes(',')) return authority.split(',').map((host) => `${before}${host}${after}`)
  const parameters = parametersOf(url)
  const hosts = parameters.get('host')?.split(',') ?? []
  if (hosts.length < 2) return [url]
  const ports = parameters.get('port')?.split(',') ?? []
  return hosts.map((host, i) => {
    parameters.set('host', host)
    const port = ports[i] ?? ports[0]
    if (port) parameters.set('port', port)
    return `${url.slice(0, url.indexOf('?'))}?${parameters}`
  })
}
