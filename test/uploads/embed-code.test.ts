import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  type ApiResponse,
  call,
  kinora,
  type Service,
  sendFile,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { makeClip } from '../support/media/media.ts'
import { fakeProgram } from '../support/recovery.ts'
import { tokenUploads } from '../support/token-uploads.ts'
import { createVideo } from '../support/videos.ts'

// The HTML in the response to an upload, which people copy to their pages.

let service: Service
let film: Buffer
/** While this file exists, ffprobe does not end. */
let gate: string
const ends: (() => unknown)[] = []

before(async () => {
  const folder = await temporaryFolder({ after() {} })
  gate = join(folder, 'gate')
  // A usual MP4 is examined without ffprobe.
  const clip = join(folder, 'clip.mkv')
  await makeClip(clip, { size: '240x320', rate: '2', seconds: 1, audioCodec: 'aac' })
  film = await readFile(clip)
  const ffprobe = await fakeProgram(folder, 'ffprobe', `while [ -e '${gate}' ]; do sleep 0.1; done`)
  // What is encoded does not matter.
  const ffmpeg = await fakeProgram(folder, 'ffmpeg', `case "$*" in *-progress*) exit 1;; esac`)
  const settings = { KINORA_FFPROBE: ffprobe, KINORA_FFMPEG: ffmpeg }
  service = await kinora({ after: (end) => ends.push(end) }, settings)
})
after(async () => {
  for (const end of ends) await end()
})

const shapeOf = ({ body }: ApiResponse) => /aspect-ratio: ([^;]+);/.exec(body.assets.iframe)?.[1]
const upload = (videoId: string) => sendFile(`${service.url}/videos/${videoId}/source`, film)

const ways: Record<string, () => Promise<ApiResponse>> = {
  'with an API key': async () => upload(await createVideo(service)),
  async 'with an upload token'() {
    const { newToken, send } = tokenUploads(service)
    return send(await newToken(), film, { range: 'part 1/1' })
  },
}
for (const [title, send] of Object.entries(ways)) {
  test(`the response to an upload ${title} contains the shape of the video`, async () => {
    // The response does not wait long for a busy machine, so several uploads may be needed.
    await waitFor(async () => {
      const response = await send()
      assert.equal(response.status, 201, response.text)
      return shapeOf(response) === '3 / 4'
    })
  })
}

test('an upload is answered although its examination does not end', async (t) => {
  const videoId = await createVideo(service)
  await writeFile(gate, '')
  t.after(() => rm(gate, { force: true }))
  const response = await upload(videoId)
  assert.deepEqual([response.status, shapeOf(response)], [201, '16 / 9'])
  await rm(gate)
  await waitFor(async () => shapeOf(await call(`${service.url}/videos/${videoId}`)) === '3 / 4')
})
