import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fail, loadAll, newPlace, succeed } from '../support/backups.ts'
import { call, kinora, settingsOf, startKinora, temporaryFolder } from '../support/harness.ts'
import { makeClip } from '../support/media/media.ts'
import { media, uploadVideo, videoStatus, waitForEncoding } from '../support/videos.ts'

test('a video that is deleted after a backup plays again after the restore', async (t) => {
  const service = await kinora(t)
  const folder = await temporaryFolder(t)
  const [clip, destination] = [join(folder, 'clip.mp4'), join(folder, 'backups')]
  await makeClip(clip, { size: '320x180', rate: '25', seconds: 2 })
  const video = await uploadVideo(service, clip)
  await waitForEncoding(service, video)
  const backup = await succeed(service, ['backup', destination])
  assert.ok(backup.copiedFiles > 3)
  assert.equal((await stat(join(destination, 'files'))).mode & 0o777, 0o700)
  const [status, content] = [await videoStatus(service, video), await loadAll(service.url, video)]
  await call(`${service.url}/videos/${video}`, { method: 'DELETE' })

  const place = await newPlace(t)
  await succeed(place, ['restore', destination])
  const restored = await startKinora(settingsOf(place))
  t.after(() => restored.stop())
  assert.deepEqual(await videoStatus(restored, video), status)
  assert.deepEqual(await loadAll(restored.url, video), content)
  assert.ok(content.size > 3)
  assert.equal((await media(restored.url, video, 'mp4/source.mp4')).status, 200)

  await fail(place, ['restore', destination], /The service is running/)
  await restored.stop()
  await fail(place, ['restore', destination], /empty installation, and this one has 1 videos, .*API keys/)
})
