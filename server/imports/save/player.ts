import type { Context } from '../../context.ts'
import { ApiError } from '../../lib/errors.ts'
import { isId, newId } from '../../lib/ids.ts'
import { makeLogo, maxLogoBytes, readLink } from '../../players/logo.ts'
import { readStyle } from '../../players/read-style.ts'
import { insertPlayer, updatePlayer } from '../../players/store.ts'
import { colors, fillStyle, flags } from '../../players/theme.ts'
import { recordObject } from '../object-store.ts'
import { originOf } from '../origin.ts'
import type { Run } from '../run-store.ts'
import type { ServiceClient } from '../services/client.ts'
import { ServiceError } from '../services/errors.ts'
import { object, string } from '../services/json.ts'
import type { KnownItem } from '../services/service.ts'
import { chooseId } from './choose-id.ts'
import { fit } from './text.ts'

type Deps = Pick<Context, 'db' | 'now'>
type Saved = { item: KnownItem; existing: string | undefined; notes: string[] }

/** Creates the player theme with its logo, or changes it if it was imported before. Returns its id. */
export async function savePlayer(
  { db, now }: Deps,
  client: ServiceClient,
  run: Run,
  { item, existing, notes }: Saved,
): Promise<string> {
  const { environment } = run
  const style = readTheme(item.details, notes)
  const name = fit(item.title, 100, 'name', notes)
  const id = existing ?? (run.options.keepIds && isId('pl', item.id) ? item.id : newId('pl'))
  if (existing) await updatePlayer(db, environment, id, { name, style }, now())
  else
    await chooseId(id, () =>
      db.transaction().execute(async (trx) => {
        const time = now()
        await insertPlayer(trx, {
          id,
          environment,
          name,
          style: fillStyle(style),
          logo_name: null,
          logo_link: null,
          created_at: time,
          updated_at: time,
        })
        await recordObject(trx, {
          ...originOf(run),
          kind: 'player',
          sourceId: item.id,
          objectId: id,
          version: null,
          contentVersion: '',
        })
      }),
    )
  const { logo, link } = object(item.details.assets)
  if (string(logo) === '') return id
  try {
    const bytes = await client.bytes(string(logo), maxLogoBytes)
    const made = makeLogo(bytes, readLink(string(link)))
    await updatePlayer(
      db,
      environment,
      id,
      { logo: made.bytes, logo_name: made.name, logo_link: made.link },
      now(),
    )
  } catch (error) {
    const isFinal = error instanceof ApiError || (error instanceof ServiceError && !error.isRetryable)
    if (!isFinal) throw error
    notes.push(`The logo was left out: ${(error as Error).message}`)
  }
  return id
}

function readTheme(details: Record<string, unknown>, notes: string[]) {
  const payload: Record<string, unknown> = {}
  for (const name of colors) if (typeof details[name] === 'string') payload[name] = details[name]
  for (const name of flags) if (typeof details[name] === 'boolean') payload[name] = details[name]
  try {
    return readStyle(payload)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    notes.push(`The colors were left out: ${error.message}`)
    return {}
  }
}
