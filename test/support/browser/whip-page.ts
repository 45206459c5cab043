import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'

/** Chromium has a camera that shows a pie, and a microphone that beeps. */
export const fakeDevices = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream']

type Options = { codec?: string; width?: number; height?: number }

/** Broadcasts the camera of a page to a WHIP URL. Returns the URL of the session. */
export async function publishCamera(
  page: Page,
  url: string,
  streamKey: string,
  { codec = 'video/H264', width = 320, height = 180 }: Options = {},
): Promise<string> {
  const answer = await page.evaluate(
    async ([url, key, codec, width, height]) => {
      const stream = await navigator.mediaDevices.getUserMedia({
        audio: true,
        video: { width: Number(width), height: Number(height), frameRate: 30 },
      })
      const connection = new RTCPeerConnection()
      for (const track of stream.getTracks()) {
        const transceiver = connection.addTransceiver(track, { direction: 'sendonly', streams: [stream] })
        if (track.kind !== 'video') continue
        const { codecs = [] } = RTCRtpSender.getCapabilities('video') ?? {}
        transceiver.setCodecPreferences(codecs.filter(({ mimeType }) => mimeType === codec))
      }
      await connection.setLocalDescription()
      const response = await fetch(String(url), {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/sdp' },
        body: connection.localDescription!.sdp,
      })
      const sdp = await response.text()
      if (response.status === 201) await connection.setRemoteDescription({ type: 'answer', sdp })
      Object.assign(window, { connection })
      return { status: response.status, sdp, location: response.headers.get('location') }
    },
    [url, streamKey, codec, width, height],
  )
  assert.equal(answer.status, 201, answer.sdp)
  return new URL(answer.location!, url).href
}
