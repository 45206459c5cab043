import { create, show } from './elements.ts'
import type { StudioSession } from './session.ts'
import { type Choice, type Device, listDevices, type PictureSource, Sources } from './sources.ts'
import { type ConnectionState, WhipClient } from './whip-client.ts'

const measureMs = 1_000
const stateMs = 2_000
const watchMs = 5_000

type Phase = 'ready' | 'live' | 'ended'

const connectionTexts: Record<ConnectionState, string> = {
  connecting: 'Connecting…',
  connected: 'Live',
  reconnecting: 'Reconnecting…',
  failed: 'Disconnected',
}
const ratings = { good: 'Good connection', fair: 'Fair connection', poor: 'Poor connection' }

export function showMessage(title: string, text: string): void {
  const message = create('main', { class: 'message' }, create('h1', {}, title), create('p', {}, text))
  document.body.replaceChildren(message)
}

/** The page: preview, sources, and the button that begins and ends the broadcast. */
export class Studio {
  readonly #session: StudioSession
  readonly #sources = new Sources()
  readonly #video = create('video', { muted: '', playsinline: '', 'aria-label': 'Preview' })
  readonly #state = create('span', { class: 'badge', role: 'status', hidden: '' })
  readonly #quality = create('span', { class: 'badge', hidden: '' })
  readonly #hint = create('p', { class: 'hint', role: 'alert', hidden: '' })
  readonly #meter = create('meter', { min: '0', max: '1', 'aria-label': 'Level of the microphone' })
  readonly #camera = create('select', { 'aria-label': 'Camera' })
  readonly #microphone = create('select', { 'aria-label': 'Microphone' })
  readonly #mute = create('button', { type: 'button', class: 'plain' }, 'Mute')
  readonly #button = create('button', { type: 'button', class: 'primary' }, 'Go live')
  readonly #pictures: Record<PictureSource, HTMLButtonElement>
  readonly #result = create('section', { class: 'result', hidden: '' })
  readonly #controls: HTMLElement
  readonly #name: string
  #choice: Choice = { picture: 'camera', cameraId: '', microphoneId: '' }
  #stream: MediaStream | undefined
  #client: WhipClient | undefined
  #phase: Phase = 'ready'
  #startedAt = 0
  /** The broadcast that this page sends. */
  #broadcastId: string | undefined
  #wakeLock: WakeLockSentinel | undefined

  constructor(session: StudioSession, name: string) {
    this.#session = session
    this.#name = name
    this.#pictures = {
      camera: this.#pictureButton('camera', 'Camera'),
      screen: this.#pictureButton('screen', 'Screen'),
    }
    this.#controls = create(
      'section',
      { class: 'controls' },
      create(
        'div',
        { class: 'segments', role: 'group', 'aria-label': 'Picture' },
        ...Object.values(this.#pictures),
      ),
      this.#camera,
      create('div', { class: 'sound' }, this.#microphone, this.#mute, this.#meter),
      this.#button,
    )
  }

  async open(): Promise<void> {
    document.title = this.#name
    const preview = create(
      'div',
      { class: 'preview' },
      this.#video,
      create('div', { class: 'badges' }, this.#state, this.#quality),
    )
    document.body.replaceChildren(
      create('main', {}, create('h1', {}, this.#name), preview, this.#hint, this.#result, this.#controls),
    )
    this.#video.muted = true
    this.#button.addEventListener('click', () => void this.#onButton())
    this.#mute.addEventListener('click', () => this.#toggleMute())
    this.#camera.addEventListener('change', () => void this.#choose({ cameraId: this.#camera.value }))
    this.#microphone.addEventListener(
      'change',
      () => void this.#choose({ microphoneId: this.#microphone.value }),
    )
    navigator.mediaDevices.addEventListener('devicechange', () => void this.#list())
    addEventListener('beforeunload', (event) => {
      if (this.#phase === 'live') event.preventDefault()
    })
    document.addEventListener('visibilitychange', () => void this.#stayAwake())
    setInterval(() => void this.#measure(), measureMs)
    setInterval(() => void this.#watchEnd(), watchMs)
    this.#drawLevel()
    this.#button.disabled = true
    this.#update()
    await this.#choose({})
    this.#button.disabled = false
  }

  #pictureButton(picture: PictureSource, label: string): HTMLButtonElement {
    const button = create('button', { type: 'button' }, label)
    button.addEventListener('click', () => void this.#choose({ picture }))
    return button
  }

  /** Opens other sources. If that fails, the previous ones stay. */
  async #choose(change: Partial<Choice>): Promise<void> {
    const choice = { ...this.#choice, ...change }
    try {
      const stream = await this.#sources.choose(choice)
      this.#choice = choice
      this.#stream = stream
      this.#video.srcObject = stream
      await this.#video.play().catch(() => {})
      this.#say('')
      // The visitor can end the sharing of the screen in the browser.
      stream.getVideoTracks()[0]?.addEventListener('ended', () => void this.#choose({ picture: 'camera' }))
      await this.#client?.replace(stream)
    } catch (error) {
      this.#say(describe(error as DOMException))
    }
    await this.#list()
    this.#update()
  }

  async #list(): Promise<void> {
    fill(this.#camera, await listDevices('videoinput'), this.#choice.cameraId)
    fill(this.#microphone, await listDevices('audioinput'), this.#choice.microphoneId)
  }

  #onButton(): Promise<void> {
    if (this.#phase === 'live') return this.#end()
    return this.#stream ? this.#begin(this.#stream) : this.#choose({})
  }

  async #begin(stream: MediaStream): Promise<void> {
    this.#phase = 'live'
    this.#startedAt = 0
    this.#say('')
    this.#client = new WhipClient({
      url: new URL('/whip', location.href).href,
      headers: this.#session.headers,
      stream,
      onState: (state, reason) => void this.#onConnection(state, reason),
    })
    this.#update()
    await this.#stayAwake()
  }

  async #onConnection(state: ConnectionState, reason?: string): Promise<void> {
    this.#state.textContent = connectionTexts[state]
    this.#state.dataset.state = state
    if (state === 'connected') this.#startedAt ||= Date.now()
    if (state === 'connected') this.#say('')
    if (state === 'failed') await this.#stop('ready')
    if (reason) this.#say(reason)
    if (state === 'reconnecting') await this.#explain()
  }

  /** Another encoder may be sending. */
  async #explain(): Promise<void> {
    const state = await this.#session.state().catch(() => undefined)
    // It may have been back meanwhile.
    if (this.#state.dataset.state !== 'reconnecting') return
    const refusal = state?.refusal
    const isRecent = refusal && Date.now() - Date.parse(refusal.at) < 10_000
    this.#say(isRecent ? refusal.reason : 'The connection was lost. The broadcast continues when it is back.')
  }

  async #end(): Promise<void> {
    this.#button.disabled = true
    try {
      await this.#session.end()
      await this.#stop('ended')
      void this.#followRecording()
    } catch {
      this.#say('The broadcast could not be ended. Try again.')
    } finally {
      this.#button.disabled = false
    }
  }

  /** Somebody else may have ended the broadcast. Sending on would begin another one. */
  async #watchEnd(): Promise<void> {
    if (this.#phase !== 'live') return
    const { broadcast } = (await this.#session.state().catch(() => undefined)) ?? {}
    if (broadcast?.state === 'live') this.#broadcastId = broadcast.id
    const isOver = broadcast?.state === 'ended' && broadcast.id === this.#broadcastId
    if (!isOver || this.#phase !== 'live') return
    await this.#stop('ended')
    void this.#followRecording()
  }

  async #stop(phase: Phase): Promise<void> {
    const client = this.#client
    this.#client = undefined
    this.#phase = phase
    this.#update()
    await client?.close()
    await this.#wakeLock?.release().catch(() => {})
    this.#wakeLock = undefined
  }

  async #followRecording(): Promise<void> {
    const say = (...content: (Node | string)[]) => this.#result.replaceChildren(...content)
    say('The broadcast has ended.')
    while (this.#phase === 'ended') {
      await new Promise((resolve) => setTimeout(resolve, stateMs))
      const { broadcast, recording } = (await this.#session.state().catch(() => undefined)) ?? {}
      if (this.#phase !== 'ended') return
      if (recording?.state === 'waiting') say('The recording is being processed…')
      if (recording?.state === 'failed') return say('The recording failed.')
      if (recording?.state === 'recorded') {
        const { path } = recording
        return say(
          'The recording is ready. ',
          ...(path
            ? [create('a', { href: path, target: '_blank', rel: 'noopener' }, 'Watch the recording')]
            : []),
        )
      }
      // Nothing was recorded.
      if (broadcast?.state === 'ended' && !recording && Date.now() - this.#startedAt > 60_000) return
    }
  }

  async #measure(): Promise<void> {
    const seconds = this.#startedAt ? Math.floor((Date.now() - this.#startedAt) / 1000) : 0
    if (this.#state.dataset.state === 'connected') this.#state.textContent = `Live ${formatDuration(seconds)}`
    const quality = await this.#client?.measure().catch(() => undefined)
    show(this.#quality, quality !== undefined)
    if (!quality) return
    const { bitRate, frameRate, rating } = quality
    this.#quality.dataset.rating = rating
    this.#quality.title = ratings[rating]
    this.#quality.textContent = `${(bitRate / 1e6).toFixed(1)} Mbit/s · ${frameRate} fps`
  }

  #drawLevel(): void {
    this.#meter.value = this.#sources.isMuted ? 0 : this.#sources.level
    setTimeout(() => this.#drawLevel(), 100)
  }

  #toggleMute(): void {
    this.#sources.isMuted = !this.#sources.isMuted
    this.#update()
  }

  /** A phone whose screen turns off stops sending. */
  async #stayAwake(): Promise<void> {
    const isNeeded = this.#phase === 'live' && document.visibilityState === 'visible'
    if (isNeeded) this.#wakeLock = await navigator.wakeLock?.request('screen').catch(() => undefined)
  }

  #update(): void {
    const isLive = this.#phase === 'live'
    this.#button.textContent = isLive ? 'End broadcast' : this.#stream ? 'Go live' : 'Try again'
    this.#button.classList.toggle('danger', isLive)
    this.#mute.textContent = this.#sources.isMuted ? 'Unmute' : 'Mute'
    this.#mute.setAttribute('aria-pressed', String(this.#sources.isMuted))
    for (const [picture, button] of Object.entries(this.#pictures))
      button.setAttribute('aria-pressed', String(picture === this.#choice.picture))
    show(this.#pictures.screen, 'getDisplayMedia' in navigator.mediaDevices)
    show(this.#camera, this.#choice.picture === 'camera')
    show(this.#state, isLive)
    show(this.#result, this.#phase === 'ended')
    this.#video.classList.toggle('mirrored', this.#choice.picture === 'camera')
  }

  #say(text: string): void {
    this.#hint.textContent = text
    show(this.#hint, text !== '')
  }
}

function fill(select: HTMLSelectElement, devices: Device[], chosen: string): void {
  select.replaceChildren(...devices.map(({ id, label }) => create('option', { value: id }, label)))
  if (chosen) select.value = chosen
  select.disabled = devices.length < 2
}

function describe({ name }: DOMException): string {
  if (name === 'NotAllowedError')
    return 'Allow access to camera and microphone in the browser, and try again.'
  if (name === 'NotFoundError') return 'There is no camera and no microphone.'
  if (name === 'NotReadableError') return 'Another program uses the camera or the microphone.'
  return 'The camera or the screen could not be opened.'
}

function formatDuration(seconds: number): string {
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  const shown = parts[0] ? parts : parts.slice(1)
  return shown.map((part, i) => (i === 0 ? String(part) : String(part).padStart(2, '0'))).join(':')
}
