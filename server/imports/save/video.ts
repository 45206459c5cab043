import type { Context } from '../../context.ts'
import { isId, newId } from '../../lib/ids.ts'
import { limits } from '../../videos/input-schemas.ts'
import { languages } from '../../videos/languages.ts'
import { insertVideo, updateVideo } from '../../videos/store.ts'
import type { Metadata } from '../../videos/tables.ts'
import type { ServiceName } from '../kinds.ts'
import { recordObject, updateObject } from '../object-store.ts'
import { originOf } from '../origin.ts'
import type { Run } from '../run-store.ts'
import type { KnownItem, VideoDescription } from '../services/service.ts'
import { setProgress } from '../work-store.ts'
import { chooseId } from './choose-id.ts'
import { findPlayerId } from './player-id.ts'
import { fit } from './text.ts'

/** Their ids are the names of files, except those of exports. */
const namesFiles: readonly ServiceName[] = ['s3', 'folder', 'urls']

type Deps = Pick<Context, 'config' | 'db' | 'queue' | 'now'>
type NewVideo = KnownItem & { version: string; contentVersion: string }

/** `isAll`: there is nothing else to carry over. Otherwise the version is recorded when it was. */
type Found = { description: VideoDescription; existing: string | undefined; notes: string[]; isAll: boolean }

/** Creates the video without a file, or changes its attributes if it was imported before. Returns its id. */
export async function saveVideo(
  deps: Deps,
  run: Run,
  item: NewVideo,
  { description, existing, notes, isAll }: Found,
): Promise<string> {
  const { environment } = run
  const attributes = await readAttributes(deps, run, description, notes)
  const key = { runId: run.id, kind: 'video', sourceId: item.id } as const
  const version = isAll ? item.version : null
  if (existing !== undefined) {
    const change = { ...attributes, updated_at: deps.now() }
    await deps.db.transaction().execute(async (trx) => {
      await setProgress(trx, key, { objectId: existing, notes })
      await updateVideo(trx, environment, existing, change)
      await updateObject(trx, originOf(run), key, { version })
      // `mp4Support` may have changed.
      await deps.queue.send(trx, 'finish-encoding', { videoId: existing })
    })
    return existing
  }
  const id = run.options.keepIds && isId('vi', item.id) ? item.id : newId('vi')
  if (run.options.keepIds && id !== item.id && !namesFiles.includes(run.service))
    notes.push('The video has a new id: the old one has another form.')
  const time = deps.now()
  const row = {
    ...attributes,
    id,
    environment,
    source_type: 'upload' as const,
    source_reference: null,
    width: null,
    height: null,
    clip: null,
    watermark: null,
    created_at: createdAt(deps, run, description, notes) ?? time,
    updated_at: time,
    // No upload token may fill it meanwhile.
    upload_token: run.id,
  }
  return chooseId(id, () =>
    deps.db.transaction().execute(async (trx) => {
      await setProgress(trx, key, { objectId: id, notes })
      await insertVideo(trx, row)
      const { contentVersion } = item
      await recordObject(trx, { ...originOf(run), ...key, objectId: id, version, contentVersion })
      return id
    }),
  )
}

async function readAttributes(deps: Deps, run: Run, found: VideoDescription, notes: string[]) {
  return {
    title: fit(found.title, limits.title, 'title', notes),
    description: fit(found.description, limits.description, 'description', notes),
    public: found.public,
    panoramic: found.panoramic,
    mp4_support: found.mp4Support,
    tags: readTags(found.tags, notes),
    metadata: readMetadata(found.metadata, notes),
    player_id: await findPlayerId(deps.db, run, found.playerId, notes),
    language: readLanguage(found.language, notes),
    is_language_detected: false,
    playable_during_upload: found.playableDuringUpload,
  }
}

function readTags(tags: string[], notes: string[]): string[] {
  const fitting = [...new Set(tags)].filter((tag) => tag !== '' && [...tag].length <= limits.tag)
  const kept = fitting.slice(0, limits.tags)
  if (kept.length < new Set(tags).size)
    notes.push(`Tags of more than ${limits.tag} characters and more than ${limits.tags} tags were left out.`)
  return kept
}

function readMetadata(pairs: Metadata[], notes: string[]): Metadata[] {
  const byKey = new Map(
    pairs
      .filter(
        ({ key, value }) => key !== '' && [...key].length <= limits.key && [...value].length <= limits.value,
      )
      .map(({ key, value }) => [key, value]),
  )
  const kept = [...byKey].slice(0, limits.metadata).map(([key, value]) => ({ key, value }))
  if (kept.length < pairs.length) notes.push('Metadata that is too long or repeats a key was left out.')
  return kept
}

function readLanguage(language: string | null, notes: string[]): string | null {
  if (language === null || (languages as readonly string[]).includes(language)) return language
  notes.push(`The language "${language.slice(0, 20)}" is not known here.`)
  return null
}

/** Sandbox videos are deleted some hours after their creation. */
function createdAt({ config, now }: Deps, run: Run, { createdAt: time }: VideoDescription, notes: string[]) {
  if (!time || time > now()) return undefined
  if (run.environment !== 'sandbox' || config.sandbox.hours === 0) return time
  notes.push('The date of creation is that of the import, because sandbox videos are deleted after a while.')
  return undefined
}
