import { lookup as lookUpDns } from 'node:dns'
import { connect as connectTcp } from 'node:net'
import { type DialOptions, dial } from '../../../lib/fetch/dial.ts'
import { FetchError } from '../../../lib/fetch/errors.ts'
import { shareLookups } from '../../../lib/fetch/shared-lookup.ts'
import { parseRtmpTarget } from '../../../live-streams/rtmp-target.ts'
import type { Restream as Target } from '../../../live-streams/tables.ts'
import { RtmpClient } from '../../rtmp/client.ts'

/** For lookup, connection and TLS handshake together. */
const connectTimeoutMs = 15_000
const answerTimeoutMs = 15_000

export const networkOf = (allowPrivateNetworks: boolean): DialOptions => ({
  allowPrivateNetworks,
  lookup: shareLookups(lookUpDns),
  connect: (host, port) => connectTcp({ host, port, noDelay: true }),
})

/**
 * Connects to the server of a restream and publishes with its stream key. Throws UrlNotAllowedError, FetchError,
 * RtmpClientError, or the reason of the signal.
 */
export async function openClient(
  { serverUrl, streamKey }: Target,
  network: DialOptions,
  { signal, onDrain }: { signal: AbortSignal; onDrain(): void },
): Promise<RtmpClient> {
  const { url, app, tcUrl } = parseRtmpTarget(serverUrl, network)
  const timeout = new AbortController()
  const error = new FetchError('timeout', `${url.hostname} could not be reached in time.`)
  const timer = setTimeout(() => timeout.abort(error), connectTimeoutMs)
  const socket = await dial(url, network, AbortSignal.any([timeout.signal, signal])).finally(() =>
    clearTimeout(timer),
  )
  const abort = () => void socket.destroy()
  signal.addEventListener('abort', abort, { once: true })
  try {
    signal.throwIfAborted()
    return await RtmpClient.publish(socket, { app, tcUrl, streamKey, answerTimeoutMs, onDrain })
  } finally {
    signal.removeEventListener('abort', abort)
    if (signal.aborted) socket.destroy()
  }
}
