import { readError, StudioError } from './session.ts'

export type ConnectionState = 'connecting' | 'connected' | 'reconnecting' | 'failed'
export type Quality = { bitRate: number; frameRate: number; rating: 'good' | 'fair' | 'poor' }

type Options = {
  url: string
  headers: Record<string, string>
  stream: MediaStream
  onState(state: ConnectionState, reason?: string): void
}

const connectMs = 12_000
const leaveMs = 3_000
/** A connection that is interrupted often recovers. */
const interruptedMs = 2_500
const maxRetryMs = 5_000
const maxOccupiedRetries = 3
const transientStatuses = [408, 429]
const unreachable = 'No connection yet. A firewall may block UDP, or the service is not running.'
const maxBitRate = 3_500_000
const good = { loss: 0.02, bitRate: 1_000_000 }
const poor = { loss: 0.08, bitRate: 400_000 }

/** Sends a stream over WHIP, and connects again for as long as it is open. */
export class WhipClient {
  readonly #options: Options
  readonly #closed = new AbortController()
  #stream: MediaStream
  #connection: RTCPeerConnection | undefined
  #resource: string | undefined
  #hasConnected = false
  #retries = 0
  #sent: { bytes: number; at: number } | undefined
  #wake: () => void = () => {}

  constructor(options: Options) {
    this.#options = options
    this.#stream = options.stream
    // The network is back, or the machine has woken up.
    const wake = () => this.#wake()
    addEventListener('online', wake, { signal: this.#closed.signal })
    document.addEventListener('visibilitychange', wake, { signal: this.#closed.signal })
    void this.#run()
  }

  /** Sends other tracks from now on. */
  async replace(stream: MediaStream): Promise<void> {
    this.#stream = stream
    for (const { sender } of this.#connection?.getTransceivers() ?? []) {
      const kind = sender.track?.kind
      const track = stream.getTracks().find((each) => each.kind === kind)
      if (track) await sender.replaceTrack(track)
    }
  }

  async close(): Promise<void> {
    this.#closed.abort()
    this.#wake()
    await this.#leave()
  }

  async measure(): Promise<Quality | undefined> {
    const connection = this.#connection
    if (connection?.connectionState !== 'connected') return undefined
    const report = [...(await connection.getStats()).values()]
    const video = report.find(({ type, kind }) => type === 'outbound-rtp' && kind === 'video')
    const remote = report.find(({ type, kind }) => type === 'remote-inbound-rtp' && kind === 'video')
    if (!video) return undefined
    const before = this.#sent
    this.#sent = { bytes: video.bytesSent, at: video.timestamp }
    if (!before || before.at >= video.timestamp) return undefined
    const bitRate = Math.max(0, (8_000 * (video.bytesSent - before.bytes)) / (video.timestamp - before.at))
    const loss = remote?.fractionLost ?? 0
    const isLimited = video.qualityLimitationReason === 'bandwidth'
    const isWorse = (limit: typeof good) => loss > limit.loss || (isLimited && bitRate < limit.bitRate)
    const rating = isWorse(poor) ? 'poor' : isWorse(good) ? 'fair' : 'good'
    return { bitRate, frameRate: Math.round(video.framesPerSecond ?? 0), rating }
  }

  async #run(): Promise<void> {
    while (!this.#closed.signal.aborted) {
      if (this.#hasConnected) this.#options.onState('reconnecting')
      else this.#options.onState('connecting', this.#retries > 1 ? unreachable : undefined)
      try {
        await this.#connect()
        this.#hasConnected = true
        this.#retries = 0
        this.#options.onState('connected')
        await this.#interrupted()
      } catch (error) {
        if (this.#closed.signal.aborted) return
        if (error instanceof StudioError && this.#isFinal(error)) {
          this.#options.onState('failed', error.message)
          return
        }
      }
      await this.#leave()
      const retryMs = Math.min(maxRetryMs, 500 * 2 ** this.#retries++)
      if (!this.#closed.signal.aborted) await this.#wait(retryMs)
    }
  }

  /** The other encoder may be the last connection of this page, which the service still waits for. */
  #isFinal({ status }: StudioError): boolean {
    if (status === 409) return !this.#hasConnected && this.#retries >= maxOccupiedRetries
    return status >= 400 && status < 500 && !transientStatuses.includes(status)
  }

  async #connect(): Promise<void> {
    const connection = new RTCPeerConnection({ bundlePolicy: 'max-bundle' })
    this.#connection = connection
    this.#sent = undefined
    for (const track of this.#stream.getTracks()) {
      const isVideo = track.kind === 'video'
      const transceiver = connection.addTransceiver(track, {
        direction: 'sendonly',
        streams: [this.#stream],
        ...(isVideo && { sendEncodings: [{ maxBitrate: maxBitRate }] }),
      })
      if (isVideo) preferH264(transceiver)
    }
    await describe(connection)
    const { url, headers } = this.#options
    // The service needs no candidates: it answers where the checks come from.
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/sdp' },
      body: connection.localDescription?.sdp ?? '',
      signal: AbortSignal.any([this.#closed.signal, AbortSignal.timeout(connectMs)]),
    })
    if (!response.ok) throw await readError(response)
    this.#resource = new URL(response.headers.get('location') ?? '', url).href
    await connection.setRemoteDescription({ type: 'answer', sdp: await response.text() })
    await this.#until(({ connectionState }) => connectionState === 'connected', connectMs)
    await keepResolution(connection)
  }

  /** Resolves when the connection is lost. */
  async #interrupted(): Promise<void> {
    for (;;) {
      await this.#until(({ connectionState }) => connectionState !== 'connected')
      if (this.#closed.signal.aborted || this.#connection?.connectionState !== 'disconnected') return
      const isBack = await this.#until(
        ({ connectionState }) => connectionState === 'connected',
        interruptedMs,
      ).then(
        () => true,
        () => false,
      )
      if (!isBack) return
    }
  }

  /** Rejects if the connection fails, and after the time. */
  #until(isReached: (connection: RTCPeerConnection) => boolean, withinMs?: number): Promise<void> {
    const connection = this.#connection!
    const done = new AbortController()
    return new Promise<void>((resolve, reject) => {
      const timer =
        withinMs === undefined ? undefined : setTimeout(() => reject(new Error('timeout')), withinMs)
      const check = () => {
        const isOver = ['failed', 'closed'].includes(connection.connectionState)
        if (isReached(connection)) resolve()
        else if (isOver) reject(new Error(connection.connectionState))
      }
      done.signal.addEventListener('abort', () => clearTimeout(timer))
      const options = { signal: done.signal }
      connection.addEventListener('connectionstatechange', check, options)
      // The service ends a session by closing DTLS, which not every browser shows as a state of the connection.
      for (const { sender } of connection.getTransceivers())
        sender.transport?.addEventListener(
          'statechange',
          () => sender.transport?.state === 'closed' && reject(new Error('closed')),
          options,
        )
      this.#closed.signal.addEventListener('abort', () => reject(new Error('closed')), options)
      check()
    }).finally(() => done.abort())
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  async #leave(): Promise<void> {
    const resource = this.#resource
    this.#resource = undefined
    this.#connection?.close()
    this.#connection = undefined
    if (resource)
      await fetch(resource, {
        method: 'DELETE',
        keepalive: true,
        signal: AbortSignal.timeout(leaveMs),
      }).catch(() => {})
  }
}

/** Browsers send lost packets of audio again if both sides ask for it, but do not offer it. */
async function describe(connection: RTCPeerConnection): Promise<void> {
  const { sdp = '' } = await connection.createOffer()
  const [, opus] = /^a=rtpmap:(\d+) opus\/48000\/2\r?$/m.exec(sdp) ?? []
  const line = `a=rtcp-fb:${opus} nack`
  const changed =
    opus && !sdp.includes(line) ? sdp.replace(/^(a=rtpmap:\d+ opus\/48000\/2)\r?$/m, `$1\r\n${line}`) : sdp
  await connection
    .setLocalDescription({ type: 'offer', sdp: changed })
    .catch(() => connection.setLocalDescription())
}

/** H.264 is passed through to viewers. Other codecs have to be encoded again. */
function preferH264(transceiver: RTCRtpTransceiver): void {
  const { codecs = [] } = RTCRtpSender.getCapabilities('video') ?? {}
  const isH264 = ({ mimeType }: { mimeType: string }) => mimeType === 'video/H264'
  if (codecs.some(isH264))
    transceiver.setCodecPreferences?.([...codecs.filter(isH264), ...codecs.filter((codec) => !isH264(codec))])
}

/** Each other size begins the stream anew for viewers. */
async function keepResolution(connection: RTCPeerConnection): Promise<void> {
  const sender = connection.getSenders().find(({ track }) => track?.kind === 'video')
  if (!sender) return
  const parameters = sender.getParameters()
  const changed = { ...parameters, degradationPreference: 'maintain-resolution' as const }
  await sender.setParameters(changed).catch(() => {})
}
