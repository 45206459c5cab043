export type PictureSource = 'camera' | 'screen'
export type Choice = { picture: PictureSource; cameraId: string; microphoneId: string }

const size = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } }

/** What is sent: a picture, and the sound of the microphone, mixed with that of the screen if there is one. */
export class Sources {
  readonly #mixer = new AudioContext({ sampleRate: 48_000 })
  readonly #output = this.#mixer.createMediaStreamDestination()
  readonly #analyser = this.#mixer.createAnalyser()
  #open: MediaStream[] = []
  #inputs: AudioNode[] = []
  #samples = new Float32Array(1_024)
  #isMuted = false
  readonly #gain = this.#mixer.createGain()

  constructor() {
    this.#gain.connect(this.#analyser)
    this.#analyser.connect(this.#output)
    this.#analyser.fftSize = this.#samples.length
  }

  /** Rejects if the visitor does not allow it, or if there is no such device. The previous sources stay open then. */
  async choose({ picture, cameraId, microphoneId }: Choice): Promise<MediaStream> {
    const opened: MediaStream[] = []
    try {
      const camera = { ...size, ...(cameraId && { deviceId: { exact: cameraId } }) }
      const microphone = {
        echoCancellation: true,
        ...(microphoneId && { deviceId: { exact: microphoneId } }),
      }
      if (picture === 'camera') {
        opened.push(await openDevices({ video: camera, audio: microphone }))
      } else {
        opened.push(
          await navigator.mediaDevices.getDisplayMedia({ video: { frameRate: { ideal: 30 } }, audio: true }),
        )
        const voice = await openDevices({ audio: microphone }).catch(() => undefined)
        if (voice) opened.push(voice)
      }
    } catch (error) {
      for (const stream of opened) stop(stream)
      throw error
    }
    this.close()
    this.#open = opened
    this.#connect(opened)
    const tracks = opened[0]!.getVideoTracks()
    for (const track of tracks) track.contentHint = picture === 'screen' ? 'detail' : 'motion'
    return new MediaStream([...tracks, ...this.#output.stream.getAudioTracks()])
  }

  set isMuted(value: boolean) {
    this.#isMuted = value
    this.#gain.gain.value = value ? 0 : 1
  }

  get isMuted(): boolean {
    return this.#isMuted
  }

  /** How loud it is, from 0 to 1. */
  get level(): number {
    this.#analyser.getFloatTimeDomainData(this.#samples)
    const peak = this.#samples.reduce((max, sample) => Math.max(max, Math.abs(sample)), 0)
    const decibels = 20 * Math.log10(Math.max(peak, 1e-4))
    return Math.max(0, Math.min(1, 1 + decibels / 60))
  }

  close(): void {
    for (const input of this.#inputs) input.disconnect()
    for (const stream of this.#open) stop(stream)
    this.#inputs = []
    this.#open = []
  }

  #connect(streams: MediaStream[]): void {
    // Browsers start it only after the visitor has done something.
    void this.#mixer.resume()
    this.#inputs = streams
      .filter((stream) => stream.getAudioTracks().length > 0)
      .map((stream) => this.#mixer.createMediaStreamSource(stream))
    for (const input of this.#inputs) input.connect(this.#gain)
  }
}

/** Without a microphone, or without a camera, the other one is enough. */
async function openDevices(wanted: MediaStreamConstraints): Promise<MediaStream> {
  try {
    return await navigator.mediaDevices.getUserMedia(wanted)
  } catch (error) {
    const isMissing = error instanceof DOMException && error.name === 'NotFoundError'
    if (!isMissing || !wanted.video || !wanted.audio) throw error
    return navigator.mediaDevices
      .getUserMedia({ video: wanted.video })
      .catch(() => navigator.mediaDevices.getUserMedia({ audio: wanted.audio! }))
  }
}

function stop(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop()
}

export type Device = { id: string; label: string }

/** Browsers tell the names once access was allowed. */
export async function listDevices(kind: 'videoinput' | 'audioinput'): Promise<Device[]> {
  const devices = await navigator.mediaDevices.enumerateDevices()
  const name = kind === 'videoinput' ? 'Camera' : 'Microphone'
  return devices
    .filter((device) => device.kind === kind && device.deviceId)
    .map(({ deviceId, label }, i) => ({ id: deviceId, label: label || `${name} ${i + 1}` }))
}
