import type { Context } from '../../context.ts'
import { UrlNotAllowedError } from '../../lib/fetch/errors.ts'
import { parseTarget } from '../../lib/fetch/target.ts'
import { newId } from '../../lib/ids.ts'
import { eventTypes } from '../../webhooks/events.ts'
import { newSecret } from '../../webhooks/sign.ts'
import { insertWebhook, updateWebhook } from '../../webhooks/store.ts'
import { recordObject } from '../object-store.ts'
import { originOf } from '../origin.ts'
import { ItemFailed } from '../outcomes.ts'
import type { Run } from '../run-store.ts'
import { array, string } from '../services/json.ts'
import type { KnownItem } from '../services/service.ts'

const validSecret = /^[\x21-\x7e]{8,200}$/

type Saved = { item: KnownItem; existing: string | undefined; notes: string[] }

/** Creates the webhook with its secret, or changes it if it was imported before. Returns its id. */
export async function saveWebhook(
  { config, db, now }: Pick<Context, 'config' | 'db' | 'now'>,
  run: Run,
  { item, existing, notes }: Saved,
): Promise<string> {
  const { environment } = run
  const url = string(item.details.url)
  try {
    parseTarget(url, config)
  } catch (error) {
    throw error instanceof UrlNotAllowedError ? new ItemFailed(error.message) : error
  }
  const wanted = array(item.details.events).map(string)
  const events = eventTypes.filter((type) => wanted.includes(type))
  if (events.length === 0) throw new ItemFailed('None of its events exists here.')
  if (events.length < wanted.length) notes.push('Events that do not exist here were left out.')
  if (existing) {
    await updateWebhook(db, environment, existing, { url, events: [...events] })
    return existing
  }
  const secret = string(item.details.signatureSecret)
  const id = newId('webhook_')
  const row = {
    id,
    environment,
    url,
    events: [...events],
    secret: validSecret.test(secret) ? secret : newSecret(),
    previous_secret: null,
    previous_until: null,
    created_at: now(),
  }
  await db.transaction().execute(async (trx) => {
    if (!(await insertWebhook(trx, row, config.webhookLimit)))
      throw new ItemFailed('There are as many webhooks as the service allows.')
    await recordObject(trx, {
      ...originOf(run),
      kind: 'webhook',
      sourceId: item.id,
      objectId: id,
      version: null,
      contentVersion: '',
    })
  })
  return id
}
