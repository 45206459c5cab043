import assert from 'node:assert/strict'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { call, kinora, sendFile, temporaryFolder } from '../support/harness.ts'
import { ffmpeg } from '../support/media/media.ts'
import { fakeProgram } from '../support/recovery.ts'

test('images that a request waits for are converted at the priority of the service', async (t) => {
  const folder = await temporaryFolder(t)
  const priorities = join(folder, 'priorities')
  await writeFile(priorities, '')
  // If root runs the tests, ffmpeg runs as another user.
  await chmod(priorities, 0o666)
  // A lower priority is set after the start.
  const script = `case "$*" in *-progress*) ffmpeg "$@" && nice >>'${priorities}'; exit;; esac`
  const program = await fakeProgram(folder, 'ffmpeg', script)
  const service = await kinora(t, { KINORA_FFMPEG: program })
  const image = join(folder, 'red.png')
  await ffmpeg('-f', 'lavfi', '-i', 'color=red:s=20x10', '-frames:v', '1', image)
  const create = async (path: string) =>
    (await call(service.url + path, { method: 'POST', json: { title: 'Film', name: 'Stream' } })).body
  const { videoId } = await create('/videos')
  const { liveStreamId } = await create('/live-streams')
  const paths = ['/watermarks', `/videos/${videoId}/thumbnail`, `/live-streams/${liveStreamId}/thumbnail`]
  for (const path of paths) {
    const { status, text } = await sendFile(service.url + path, await readFile(image))
    assert.ok(status === 200 || status === 201, text)
  }
  const found = (await readFile(priorities, 'utf8')).trim().split('\n')
  assert.deepEqual(found, Array(3).fill(String(getPriority())))
})
