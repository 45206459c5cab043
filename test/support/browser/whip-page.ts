import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'

/** Chromium has a camera that shows a pie, and a microphone that beeps. */
export const fakeDevices = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream']

type Options = {
  codec?: string
  width?: number
  height?: number
  /** An expression for a stream instead of the camera. */
  stream?: string
  /** Of the service, if the packets take a detour. */
  port?: number
}

/** Broadcasts the camera of a page to a WHIP URL. Returns the URL of the session. */
export async function publishCamera(
  page: Page,
  url: string,
  streamKey: string,
  { codec = 'video/H264', width = 320, height = 180, stream, port }: Options = {},
): Promise<string> {
  const camera = `navigator.mediaDevices.getUserMedia({
    audio: true, video: { width: ${width}, height: ${height}, frameRate: 30 },
  })`
  const answer = await page.evaluate<{ status: number; sdp: string; location: string }>(`(async () => {
    const stream = await (${stream ?? camera})
    window.connection = new RTCPeerConnection()
    for (const track of stream.getTracks()) {
      const transceiver = connection.addTransceiver(track, { direction: 'sendonly', streams: [stream] })
      const { codecs } = RTCRtpSender.getCapabilities('video')
      const chosen = codecs.filter(({ mimeType }) => ['video/rtx', ${JSON.stringify(codec)}].includes(mimeType))
      if (track.kind === 'video') transceiver.setCodecPreferences(chosen)
    }
    await connection.setLocalDescription()
    const response = await fetch(${JSON.stringify(url)}, {
      method: 'POST',
      headers: { authorization: ${JSON.stringify(`Bearer ${streamKey}`)}, 'content-type': 'application/sdp' },
      body: connection.localDescription.sdp,
    })
    const text = await response.text()
    const sdp = text.replaceAll(/ \\d+ typ host/g, (found) => ${port ? `' ${port} typ host'` : 'found'})
    if (response.status === 201) await connection.setRemoteDescription({ type: 'answer', sdp })
    return { status: response.status, sdp, location: response.headers.get('location') }
  })()`)
  assert.equal(answer.status, 201, answer.sdp)
  return new URL(answer.location, url).href
}
