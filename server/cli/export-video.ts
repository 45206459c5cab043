import { hash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { call, type Server } from './client.ts'
import { download } from './download.ts'
import type { Target } from './export-target.ts'

export type VideoFacts = {
  videoId: string
  title: string
  createdAt: string
  updatedAt: string
  public: boolean
  status?: { thumbnailVersion: string | null }
}
type Details = VideoFacts & { assets: { mp4?: string; thumbnail: string } }
type Track = { src: string; srclang?: string; language?: string; default?: boolean }

export type ExportedVideo = {
  video: VideoFacts
  /** The path of the file. Null if the video has none. */
  file: string | null
  files: number
  bytes: number
  isUnchanged: boolean
}

type Written = { files: number; bytes: number }

/** Writes a video, unless an earlier export has written it since its last change. */
export async function exportVideo(
  server: Server,
  target: Target,
  listed: VideoFacts,
): Promise<ExportedVideo> {
  const at = `videos/${listed.videoId}`
  const texts = await readTexts(server, listed.videoId)
  const before = await readEarlier(target, `${at}/video.json`)
  const { assets: _, ...shown } = listed as Details
  const json = { video: shown, ...texts.json }
  if (before && JSON.stringify({ video: before.video, ...pick(before) }) === JSON.stringify(json))
    return {
      video: listed,
      file: before.file && `${at}/${before.file}`,
      files: 0,
      bytes: 0,
      isUnchanged: true,
    }
  const written: Written = { files: 0, bytes: 0 }
  const write = async (path: string, content: Buffer | AsyncIterable<Buffer>) => {
    written.bytes += await target.write(`${at}/${path}`, content)
    written.files++
  }
  // The URLs of a private video are for one viewer.
  const details = await call<Details>(server, 'GET', `/videos/${listed.videoId}`)
  for (const { path, content } of texts.tracks) await write(path, content)
  if (listed.status?.thumbnailVersion != null)
    await write('thumbnail.jpg', (await download(details.assets.thumbnail)).body)
  const file = before?.file ?? (await writeFile(server, details, write))
  // Last, because its presence means that the rest is complete.
  await target.writeJson(`${at}/video.json`, { ...json, file })
  return {
    video: listed,
    file: file && `${at}/${file}`,
    ...written,
    files: written.files + 1,
    isUnchanged: false,
  }
}

type Earlier = {
  video: unknown
  summary: unknown
  defaultCaptions: unknown
  tracks: unknown
  file: string | null
}

const pick = ({ summary, defaultCaptions, tracks }: Earlier) => ({ summary, defaultCaptions, tracks })

async function readEarlier(target: Target, path: string): Promise<Earlier | undefined> {
  const bytes = await target.read(path)
  try {
    return bytes && (JSON.parse(bytes.toString()) as Earlier)
  } catch {
    return undefined
  }
}

/** What belongs to a video, with hashes of the tracks, whose changes do not change the video. */
async function readTexts(server: Server, videoId: string) {
  const tracks: { path: string; content: Buffer }[] = []
  const hashes: Record<string, string> = {}
  let defaultCaptions: string | null = null
  for (const kind of ['captions', 'chapters'] as const) {
    const { data } = await call<{ data: Track[] }>(server, 'GET', `/videos/${videoId}/${kind}?pageSize=100`)
    for (const { src, srclang, language = srclang, default: isDefault } of data) {
      const content = await buffer((await download(src)).body)
      const path = `${kind}/${language}.vtt`
      tracks.push({ path, content })
      hashes[path] = hash('sha256', content)
      if (isDefault) defaultCaptions = language ?? null
    }
  }
  const summaries = await call<{ data: { summaryId: string }[] }>(
    server,
    'GET',
    `/summaries?videoId=${videoId}`,
  )
  const [found] = summaries.data
  const summary = found ? await call<object>(server, 'GET', `/summaries/${found.summaryId}/source`) : null
  return { tracks, json: { summary, defaultCaptions, tracks: hashes } }
}

type Write = (path: string, content: AsyncIterable<Buffer>) => Promise<void>

/** Writes the source, or else the MP4, and returns its name. Null if the video has neither. */
async function writeFile(server: Server, { videoId, assets }: Details, write: Write): Promise<string | null> {
  const source = await download(`${server.url}/videos/${videoId}/source`, {
    key: server.key,
    mayBeMissing: true,
  })
  const isOriginal = source.status === 200 && source.headers.get('kinora-source-edits') === null
  if (isOriginal) return writeNamed(source.body, write)
  await discard(source.body)
  if (!assets.mp4) return null
  const mp4 = await download(assets.mp4, { mayBeMissing: true })
  if (mp4.status === 200) return writeNamed(mp4.body, write)
  await discard(mp4.body)
  return null
}

async function discard(body: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of body) break
}

/** Names the file after its content, so that other programs open it. */
async function writeNamed(body: AsyncIterable<Buffer>, write: Write): Promise<string> {
  const chunks = body[Symbol.asyncIterator]()
  const first = await chunks.next()
  const name = `source.${extensionOf(first.done ? Buffer.alloc(0) : first.value)}`
  async function* whole() {
    if (!first.done) yield first.value
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value
  }
  await write(name, whole())
  return name
}

function extensionOf(start: Buffer): string {
  const text = start.subarray(0, 64).toString('latin1')
  if (text.slice(4, 8) === 'ftyp') return text.slice(8, 10) === 'qt' ? 'mov' : 'mp4'
  if (text.startsWith('\x1a\x45\xdf\xa3')) return text.includes('webm') ? 'webm' : 'mkv'
  if (text.startsWith('RIFF')) return text.slice(8, 12) === 'WAVE' ? 'wav' : 'avi'
  if (text.startsWith('FLV')) return 'flv'
  if (text.startsWith('OggS')) return 'ogg'
  if (text.startsWith('ID3')) return 'mp3'
  if (text.startsWith('fLaC')) return 'flac'
  return text.startsWith('G') ? 'ts' : 'mp4'
}
