import type { Context } from '../../context.ts'
import { ApiError } from '../../lib/errors.ts'
import { isId, newId } from '../../lib/ids.ts'
import { checkRestreams } from '../../live-streams/check-restreams.ts'
import { liveStreamPrefix, newStreamKey } from '../../live-streams/ids.ts'
import { findByStreamKey, insertLiveStream, updateLiveStream } from '../../live-streams/store.ts'
import type { Restream } from '../../live-streams/tables.ts'
import { recordObject } from '../object-store.ts'
import { originOf } from '../origin.ts'
import { ItemSkipped } from '../outcomes.ts'
import type { Run } from '../run-store.ts'
import { array, bool, object, string, time } from '../services/json.ts'
import type { KnownItem } from '../services/service.ts'
import { chooseId } from './choose-id.ts'
import { findPlayerId } from './player-id.ts'
import { fit } from './text.ts'

const maxRestreams = 5
const validKey = /^[\x21-\x7e]{1,200}$/

type Saved = { item: KnownItem; existing: string | undefined; notes: string[] }

/** Creates the live stream with its key, or changes it if it was imported before. Returns its id. */
export async function saveLiveStream(
  deps: Pick<Context, 'config' | 'db' | 'now'>,
  run: Run,
  { item, existing, notes }: Saved,
): Promise<string> {
  const { db, now } = deps
  const { environment } = run
  const { details } = item
  const streamKey = string(details.streamKey)
  const change = {
    name: fit(item.title, 500, 'name', notes) || 'Live stream',
    public: bool(details.public, true),
    record: bool(details.record, true),
    show_viewers: bool(details.showViewers, false),
    player_id: await findPlayerId(db, run, string(details.playerId) || null, notes),
    restreams: readRestreams(deps, details.restreams, notes),
  }
  if (existing) {
    await updateLiveStream(db, environment, existing, change, now())
    return existing
  }
  if (!validKey.test(streamKey)) notes.push('It has a new stream key, because the old one is not known.')
  else if (await findByStreamKey(db, streamKey))
    throw new ItemSkipped('Another live stream here has its stream key.')
  const id = run.options.keepIds && isId(liveStreamPrefix, item.id) ? item.id : newId(liveStreamPrefix)
  const createdAt = time(details.createdAt) ?? now()
  await chooseId(id, () =>
    db.transaction().execute(async (trx) => {
      await insertLiveStream(trx, {
        ...change,
        id,
        environment,
        stream_key: validKey.test(streamKey) ? streamKey : newStreamKey(),
        metadata: [],
        srt_passphrase: null,
        last_refusal: null,
        created_at: createdAt,
        updated_at: now(),
      })
      await recordObject(trx, {
        ...originOf(run),
        kind: 'liveStream',
        sourceId: item.id,
        objectId: id,
        version: null,
        contentVersion: '',
      })
    }),
  )
  return id
}

function readRestreams({ config }: Pick<Context, 'config'>, value: unknown, notes: string[]): Restream[] {
  const restreams = array(value)
    .slice(0, maxRestreams)
    .map(object)
    .map(({ name, serverUrl, streamKey }) => ({
      name: string(name).slice(0, 200) || 'Restream',
      serverUrl: string(serverUrl).slice(0, 2_000),
      streamKey: string(streamKey).slice(0, 500),
    }))
  try {
    checkRestreams(restreams, config)
    return restreams
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    notes.push(`The restreams were left out: ${error.message}`)
    return []
  }
}
