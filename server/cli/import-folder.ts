import { readFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { inParallel } from '../lib/parallel.ts'
import { ClientError, call, type Server, sendJson } from './client.ts'
import type { Output } from './command.ts'
import { CommandError } from './errors.ts'
import { type FolderObject, type FolderVideo, scanFolder } from './folder-scan.ts'
import { followImport } from './import-follow.ts'
import type { Import } from './import-status.ts'
import { formatBytes } from './progress.ts'
import { uploadFile } from './upload-file.ts'

type Request = { dryRun?: boolean; limit?: number; concurrency?: number }

const defaultConcurrency = 3

/** Sends what a folder contains, and its files. A second call continues, and skips what has not changed. */
export async function importFolder(
  server: Server,
  name: string,
  { dryRun, limit, concurrency = defaultConcurrency, ...request }: Request,
  output: Output,
): Promise<void> {
  const { videos: found, others } = await scanFolder(resolve(name))
  const videos = found.slice(0, limit)
  if (videos.length + others.length === 0) throw new CommandError(`${name} has no video or audio files.`)
  if (dryRun) return printPreview(videos, others, output)
  const location = basename(resolve(name))
  const started = await sendJson<Import>(server, 'POST', '/imports', {
    ...request,
    service: 'folder',
    location,
  })
  const send = (object: FolderObject) => sendObject(server, started.importId, object)
  // Before the videos that refer to them.
  for (const object of others) await sendOther(server, object, await send(object))
  let done = 0
  await inParallel(videos, concurrency, async (video) => {
    try {
      await sendVideo(server, video, await send(video))
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      output.warn(`${video.file.name}: ${error.message}`)
    }
    done++
    if (!output.isJson && process.stderr.isTTY) process.stderr.write(`\r${done} of ${videos.length} files `)
  })
  if (!output.isJson && process.stderr.isTTY) process.stderr.write('\n')
  const listed = await call<Import>(server, 'POST', `/imports/${started.importId}/complete`)
  await followImport(server, listed, output)
}

type Received = { state: string; reason: string | null; objectId: string | null }

const sendObject = (
  server: Server,
  importId: string,
  { kind, sourceId, title, version, contentVersion, bytes, details }: FolderObject,
) =>
  sendJson<Received>(server, 'POST', `/imports/${importId}/objects`, {
    ...{ kind, sourceId, title, version, contentVersion, details },
    ...(bytes !== undefined && { bytes }),
  })

async function sendOther(server: Server, { logo, details }: FolderObject, { state, objectId }: Received) {
  if (state !== 'done' || !logo || !objectId) return
  const body = new FormData()
  body.append('file', new Blob([await readFile(logo)]), basename(logo))
  const { link } = (details.assets ?? {}) as { link?: unknown }
  if (typeof link === 'string') body.append('link', link)
  await call(server, 'POST', `/players/${objectId}/logo`, { body })
}

async function sendVideo(server: Server, video: FolderVideo, { state, reason, objectId }: Received) {
  if (state === 'failed') throw new ClientError(reason ?? 'It cannot be imported.')
  if (state === 'skipped' || !objectId) return
  const at = `/videos/${objectId}`
  for (const { kind, language, path, isDefault } of video.tracks) {
    const body = new FormData()
    body.append('file', new Blob([await readFile(path)]), basename(path))
    const track = `${at}/${kind}/${encodeURIComponent(language)}`
    await call(server, 'POST', track, { body })
    if (isDefault) await sendJson(server, 'PATCH', track, { default: true })
  }
  if (video.thumbnail) {
    const body = new FormData()
    body.append('file', new Blob([await readFile(video.thumbnail)]), basename(video.thumbnail))
    await call(server, 'POST', `${at}/thumbnail`, { body })
  }
  if (video.summary) await sendSummary(server, objectId, video.summary)
  if (state !== 'fetching') return
  const settings = { title: undefined, isPrivate: false, watermark: undefined, videoId: objectId }
  await uploadFile(video.file, { ...server, ...settings }, { onVideo() {}, showProgress() {} })
}

async function sendSummary(server: Server, videoId: string, text: object): Promise<void> {
  const { data } = await call<{ data: { summaryId: string }[] }>(
    server,
    'GET',
    `/summaries?videoId=${videoId}`,
  )
  const summary =
    data[0] ?? (await sendJson<{ summaryId: string }>(server, 'POST', '/summaries', { videoId }))
  await sendJson(server, 'PATCH', `/summaries/${summary.summaryId}/source`, text)
}

function printPreview(videos: FolderVideo[], others: FolderObject[], output: Output): void {
  const bytes = videos.reduce((sum, { file }) => sum + file.size, 0)
  const lines = videos.map(({ file, title }) => `${file.name}  ${title}  ${formatBytes(file.size)}`)
  const total = `${videos.length} videos, ${formatBytes(bytes)}${others.length > 0 ? `, ${others.length} other objects` : ''}`
  const shown = videos.map(({ file, title, details }) => ({
    file: file.name,
    title,
    bytes: file.size,
    details,
  }))
  output.print([...lines, total].join('\n'), { videos: shown, bytes })
}
