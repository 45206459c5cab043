import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConcurrencyLimit } from '../../lib/concurrency-limit.ts'
import { ApiError } from '../../lib/errors.ts'
import { readLanguage } from '../../lib/languages.ts'
import { maxImageBytes } from '../../media/image-upload.ts'
import type { WorkerContext } from '../../slice.ts'
import { saveTrack } from '../../text-tracks/save.ts'
import { maxTrackBytes, toWebVtt } from '../../text-tracks/upload.ts'
import { receiveThumbnail } from '../../thumbnails/upload.ts'
import { saveWrittenSummary } from '../../transcripts/summaries/request.ts'
import type { Run } from '../run-store.ts'
import type { ServiceClient } from '../services/client.ts'
import { ServiceError } from '../services/errors.ts'
import type { Track, VideoDescription } from '../services/service.ts'

type Deps = WorkerContext & { imageLimit: ConcurrencyLimit }

/** Whether `saveExtras` has something to save. */
export const hasExtras = ({ captions, chapters, thumbnail, summary }: VideoDescription): boolean =>
  captions.length > 0 || chapters.length > 0 || thumbnail !== null || summary !== null

/** Captions, chapters, thumbnail and summary of a video. What cannot be carried over becomes a note. */
export async function saveExtras(
  deps: Deps,
  client: ServiceClient,
  run: Run,
  { videoId, found, notes }: { videoId: string; found: VideoDescription; notes: string[] },
): Promise<void> {
  const { include } = run.options
  for (const kind of ['captions', 'chapters'] as const) {
    if (!include.includes(kind)) continue
    for (const track of found[kind])
      await orNote(notes, `The ${kind} in "${track.language.slice(0, 20)}" were left out`, () =>
        importTrack(deps, client, { videoId, kind, track }),
      )
  }
  const { thumbnail, summary } = found
  if (thumbnail)
    await orNote(notes, 'The thumbnail was left out', () =>
      receiveThumbnail(deps, deps.imageLimit, videoId, async (folder) => {
        const path = join(folder, 'download')
        await writeFile(path, await client.bytes(thumbnail, maxImageBytes))
        return path
      }),
    )
  if (summary) await importSummary(deps, run, videoId, summary)
}

async function importTrack(
  { db }: Deps,
  client: ServiceClient,
  { videoId, kind, track }: { videoId: string; kind: 'captions' | 'chapters'; track: Track },
): Promise<void> {
  const language = readLanguage(track.language)
  if (language === undefined) throw new ServiceError('There is no such language.')
  const content = await toWebVtt(await client.bytes(track.url, maxTrackBytes, track.headers))
  const { isDefault } = track
  await db
    .transaction()
    .execute((trx) => saveTrack(trx, { videoId, kind, language, content, origin: 'uploaded', isDefault }))
}

async function importSummary(
  { db, now }: Deps,
  { environment }: Run,
  videoId: string,
  text: NonNullable<VideoDescription['summary']>,
): Promise<void> {
  await db.transaction().execute((trx) => saveWrittenSummary(trx, { environment, videoId, text, now: now() }))
}

/** A text or an image that is damaged must not keep a video from being imported. */
async function orNote(notes: string[], what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    const isFinal =
      error instanceof ServiceError ? !error.isRetryable : error instanceof ApiError && error.status < 500
    if (!isFinal) throw error
    notes.push(`${what}: ${(error as Error).message}`)
  }
}
