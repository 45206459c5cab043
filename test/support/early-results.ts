import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { segmentKeys, waitForBeginning } from './early-uploads.ts'
import { listFiles, type Service, type Target } from './harness.ts'
import { download } from './media/media.ts'
import { findViolations } from './media/playlist-validator.ts'
import { readFrameNumbers } from './media/sources.ts'
import { eventsOf, media, videoStatus, waitForEncoding } from './videos.ts'

// What is there of a video before its source is complete, and whether the result is that of a complete upload. A target may
// be the sandbox: media have the same URLs in all environments.

type EarlyTarget = Service & Target

/** The URL of the service, for the URL of the API of any environment. */
export const mediaUrl = ({ url }: Target) => new URL(url).origin

/** Checks the status of a video whose upload pauses, and returns the keys of its segments. */
export async function assertBegun(target: EarlyTarget, videoId: string): Promise<string[]> {
  await waitForBeginning(target, videoId)
  const { ingest, encoding } = await videoStatus(target, videoId)
  assert.match(ingest.status, /^(uploading|ingesting)$/)
  assert.equal(encoding.playable, true)
  for (const { status, progress } of encoding.qualities.filter(
    ({ type }: { type: string }) => type === 'hls',
  ))
    assert.ok(status === 'encoding' && progress > 0 && progress < 100, JSON.stringify(encoding))
  assert.deepEqual(await eventsOf(target.database, videoId), [])
  return segmentKeys(target.database, videoId)
}

/** The playlist of a public video grows. */
export async function assertGrowing(target: EarlyTarget, videoId: string): Promise<void> {
  const { text } = await media(mediaUrl(target), videoId, 'hls/240p/manifest.m3u8')
  assert.match(text, /EXT-X-PLAYLIST-TYPE:EVENT[\s\S]*video-0\.m4s/)
  assert.doesNotMatch(text, /ENDLIST/)
}

/** Nothing of the beginning was encoded again, and no copy of it is left. */
export async function assertContinued(target: EarlyTarget, videoId: string, keys: string[]): Promise<void> {
  await waitForEncoding(target, videoId)
  const final = await segmentKeys(target.database, videoId)
  assert.deepEqual(
    keys.filter((key) => !final.includes(key)),
    [],
    'the beginning was encoded again',
  )
  const copies = (await listFiles(target)).filter((path) => path.includes(videoId) && path.includes('early-'))
  assert.deepEqual(copies, [])
}

async function renditionsOf(target: EarlyTarget, videoId: string): Promise<string[]> {
  const { qualities } = await waitForEncoding(target, videoId)
  assert.deepEqual([...new Set(qualities.map(({ status }) => status))], ['encoded'])
  return [...qualities.filter(({ type }) => type === 'hls').map(({ quality }) => quality), 'sound']
}

/** Without what depends on how many segments were encoded together. */
const withoutBandwidth = (playlist: string) => playlist.replaceAll(/(?:AVERAGE-)?BANDWIDTH=\d+,/g, '')

type Expected = {
  folder: string
  /** The same file, uploaded at once. */
  expectedId: string
  /** Whether the highest quality is copied. */
  isCopied?: boolean
  /** Compares more of a rendition. */
  compare?(found: string, expected: string): Promise<void>
}

/** The playlists, frames, events and the status of a public video are those of another one. */
export async function assertSame(
  target: EarlyTarget,
  videoId: string,
  { folder, expectedId, isCopied = false, compare }: Expected,
): Promise<void> {
  const url = mediaUrl(target)
  const both = [videoId, expectedId]
  const renditions = await renditionsOf(target, expectedId)
  assert.deepEqual(await renditionsOf(target, videoId), renditions)
  const masters = await Promise.all(both.map((id) => media(url, id, 'hls/manifest.m3u8')))
  const [master, expectedMaster] = masters.map(({ text }) => withoutBandwidth(text))
  assert.equal(master, expectedMaster)
  for (const rendition of renditions) {
    const [found, expected] = await Promise.all(both.map((id) => download(url, id, rendition, folder)))
    assert.equal(found!.playlist, expected!.playlist, rendition)
    assert.deepEqual(findViolations(found!.playlist, 'media'), [])
    if (rendition === 'sound') continue
    const paths = [found!.joined, expected!.joined] as const
    const [numbers, expectedNumbers] = await Promise.all(paths.map(readFrameNumbers))
    assert.deepEqual(numbers, expectedNumbers, rendition)
    const isTop = rendition === renditions.at(-2)
    if (isCopied && isTop) assert.deepEqual(await readFile(paths[0]), await readFile(paths[1]))
    await compare?.(...paths)
  }
  assert.deepEqual(await eventsOf(target.database, videoId), await eventsOf(target.database, expectedId))
  const { encoding } = await videoStatus(target, videoId)
  assert.deepEqual(encoding.metadata, (await videoStatus(target, expectedId)).encoding.metadata)
}
