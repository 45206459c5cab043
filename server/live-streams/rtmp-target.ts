import { UrlNotAllowedError } from '../lib/fetch/errors.ts'
import { blockedPorts } from '../lib/fetch/ip-ranges.ts'
import { checkHost } from '../lib/fetch/target.ts'

const rtmpPort = 1935

/** The URL of an RTMP server, checked, and the two names that the server expects for it. */
export type RtmpTarget = {
  url: URL
  /** The path, such as `live2`. */
  app: string
  /** The entire URL without the stream key. */
  tcUrl: string
}

/** All checks of an rtmp or rtmps URL that need no network. Throws UrlNotAllowedError. */
export function parseRtmpTarget(text: string, options: { allowPrivateNetworks: boolean }): RtmpTarget {
  // URL.parse removes line breaks.
  if (/\p{Cc}|%(?:[01][\da-f]|7f)/iu.test(text)) {
    throw new UrlNotAllowedError('The URL contains a control character, such as a line break.')
  }
  const url = URL.parse(text)
  if (!url || !/^rtmps?:$/.test(url.protocol)) {
    throw new UrlNotAllowedError('This is not an rtmp or rtmps URL, such as rtmp://live.example.com/app.')
  }
  url.hostname = normalizeHost(url.hostname)
  if (url.port !== '' && Number(url.port) !== rtmpPort && blockedPorts.has(Number(url.port))) {
    throw new UrlNotAllowedError(`Port ${url.port} belongs to a protocol other than RTMP and is not allowed.`)
  }
  checkHost(url, options.allowPrivateNetworks)
  const path = trimSlashes(url.pathname)
  if (path === '') {
    throw new UrlNotAllowedError('The URL has no path. Servers expect one: rtmp://live.example.com/app.')
  }
  const app = path + url.search
  return { url, app, tcUrl: `${url.protocol}//${url.host}/${app}` }
}

/** `/\/+$/` would take a time that grows with the square of the number of slashes in the middle. */
function trimSlashes(path: string): string {
  let [from, to] = [0, path.length]
  while (path[from] === '/') from++
  while (to > from && path[to - 1] === '/') to--
  return path.slice(from, to)
}

/** URL normalizes the hosts of known protocols only: other notations of IP addresses, and international names. */
function normalizeHost(host: string): string {
  const normalized = host === '' ? null : URL.parse(`http://${host}`)
  if (!normalized?.hostname) throw new UrlNotAllowedError('The URL has no valid host.')
  return normalized.hostname
}
