import type { Transaction } from 'kysely'
import type { Context } from '../../context.ts'
import type { Lease } from '../../lib/leases.ts'
import type { Tables } from '../../tables.ts'
import { saveCaption } from '../../text-tracks/save.ts'
import { findTrack, lockVideo } from '../../text-tracks/store.ts'
import { setDetectedLanguage } from '../../videos/store.ts'
import { recordEvent } from '../../webhooks/events.ts'
import * as store from '../store.ts'
import { makeWebVtt } from './cues.ts'

type Deps = Pick<Context, 'db' | 'now'>

/** Makes the caption from all pieces. Caption, language, event and the end of the transcript are one transaction. */
export async function finishTranscript(
  { db, now }: Deps,
  lease: Lease,
  { environment, language }: store.Transcript,
): Promise<void> {
  const videoId = lease.id
  const phrases = await store.listPhrases(db, videoId)
  const content = language !== null && phrases.length > 0 ? await makeWebVtt(phrases, language) : undefined
  await db.transaction().execute(async (trx) => {
    // In the order in which an update of the video locks them.
    if (!(await lockVideo(trx, videoId)) || !(await store.lockLeased(trx, lease))) return
    // A summary may wait for the end of the transcript.
    await store.announceWork(trx)
    if (language === null || content === undefined)
      return store.endTranscript(trx, videoId, 'unprocessable', 'The audio of this video contains no speech.')
    await store.endTranscript(trx, videoId, 'completed')
    await setDetectedLanguage(trx, videoId, language)
    const captionId = await addCaption(trx, { videoId, language, content })
    if (captionId === undefined) return
    const payload = { videoId, captionId, generationMode: 'transcript', language } as const
    await recordEvent(trx, environment, 'video.caption.generated', payload, now())
  })
}

/** Keeps a caption that somebody has uploaded. Returns the id of the new caption, if there is one. */
async function addCaption(
  trx: Transaction<Tables>,
  caption: { videoId: string; language: string; content: string },
): Promise<string | undefined> {
  const existing = await findTrack(trx, { ...caption, kind: 'captions' })
  if (existing?.origin === 'uploaded') return undefined
  const saved = await saveCaption(trx, { ...caption, origin: 'transcript' })
  return saved?.id
}
