import type { Context } from '../../context.ts'
import { type Encoding, findEncoding } from '../../encoding/renditions/encoding-store.ts'
import type { GuardedFetch } from '../../lib/fetch/guarded-fetch.ts'
import { FileNotFoundError } from '../../lib/files/files.ts'
import type { Lease } from '../../lib/leases.ts'
import { withWorkFolder } from '../../lib/work.ts'
import type { Tools } from '../../media/ffmpeg.ts'
import { isSilent, wavOf } from '../../media/speech.ts'
import { explainMissing } from '../../videos/store-identity.ts'
import * as store from '../store.ts'
import type { Phrase } from '../tables.ts'
import type { Recognized } from './answers.ts'
import { finishTranscript } from './finish.ts'
import { audioDurationOf, type PieceAudio, readPiece } from './piece-audio.ts'
import { recognize } from './recognize.ts'
import { readSpokenLanguage } from './spoken-language.ts'

export type TranscriptionContext = Pick<
  Context,
  'config' | 'db' | 'files' | 'now' | 'log' | 'metrics' | 'space'
> & {
  tools: Tools
  serverFetch: GuardedFetch
}

/** The transcript cannot be made from this video. The message is shown to its owner. */
class Unprocessable extends Error {}

/**
 * The next step of a transcript: recognizes one piece of the audio and stores the result, or finishes the transcript
 * after the last piece. After a crash, only the piece in progress is recognized again.
 */
export async function continueTranscript(
  context: TranscriptionContext,
  lease: Lease,
  signal: AbortSignal,
): Promise<void> {
  const { db } = context
  const transcript = await store.findTranscript(db, lease.id)
  if (transcript?.lease_owner !== lease.owner) return
  try {
    const last = await store.findLastPiece(db, lease.id)
    if (last?.is_last) return await finishTranscript(context, lease, transcript)
    await transcribePiece(context, { lease, transcript, fromMs: last?.to_ms ?? 0, signal })
  } catch (thrown) {
    const error = await explainMissing(context, thrown)
    const isMissing = error instanceof FileNotFoundError
    if (!isMissing && !(error instanceof Unprocessable)) throw error
    const reason = isMissing ? 'The encoded audio of the video is missing.' : error.message
    await endTranscript(context, lease, 'unprocessable', reason)
  }
}

/** Ends a transcript without a caption. */
export async function endTranscript(
  { db }: Pick<Context, 'db'>,
  lease: Lease,
  state: 'failed' | 'unprocessable',
  reason: string,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    if (!(await store.lockLeased(trx, lease))) return
    await store.endTranscript(trx, lease.id, state, reason)
    await store.announceWork(trx)
  })
}

type Step = { lease: Lease; transcript: store.Transcript; fromMs: number; signal: AbortSignal }

async function transcribePiece(context: TranscriptionContext, step: Step): Promise<void> {
  const { config, db } = context
  const { lease, transcript, fromMs, signal } = step
  const plan = planOf(await findEncoding(db, lease.id))
  await withWorkFolder(context, async (folder) => {
    const { pieceMs: maxMs } = config.transcription
    const audio = await readPiece(context, { videoId: lease.id, plan, fromMs, maxMs, folder, signal })
    const recognized = await recognizeAudio(context, { audio, language: transcript.language, folder, signal })
    await recordPiece(context, step, {
      audio,
      recognized,
      durationMs: Math.round(audio.isLast ? audio.toMs : audioDurationOf(plan)),
    })
  })
}

function planOf(encoding: Encoding | undefined) {
  if (!encoding?.plan || encoding.state === 'failed')
    throw new Unprocessable('The video could not be encoded.')
  if (!encoding.plan.hasSound) throw new Unprocessable('The video has no audio.')
  if (encoding.sound_failure !== null) throw new Unprocessable('The audio of the video could not be encoded.')
  return encoding.plan
}

/** Silence is not sent: it would cost time and money, and speech models hear words in it. */
async function recognizeAudio(
  { config, serverFetch }: TranscriptionContext,
  piece: { audio: PieceAudio; language: string | null; folder: string; signal: AbortSignal },
): Promise<Recognized> {
  const { audio, language, folder, signal } = piece
  if (isSilent(audio.pcm)) return { language: undefined, phrases: [] }
  const recognition = { config: config.transcription, fetch: serverFetch, folder, signal }
  const durationMs = audio.toMs - audio.fromMs
  return recognize(recognition, { wav: wavOf(audio.pcm), durationMs, language })
}

type Result = { audio: PieceAudio; recognized: Recognized; durationMs: number }

async function recordPiece({ db }: TranscriptionContext, step: Step, result: Result): Promise<void> {
  const { lease, transcript } = step
  const { audio, recognized, durationMs } = result
  const hasSpeech = recognized.phrases.length > 0
  const language = transcript.language ?? (hasSpeech ? detectedLanguage(recognized) : null)
  const { fromMs, toMs, isLast } = audio
  const phrases = recognized.phrases.map((phrase) => moveBy(phrase, fromMs))
  await db.transaction().execute(async (trx) => {
    if (!(await store.lockLeased(trx, lease))) return
    await store.insertPiece(trx, lease.id, { fromMs, toMs, isLast, phrases })
    await store.advanceTranscript(trx, lease.id, { language, durationMs })
  })
}

const moveBy = ({ fromMs, toMs, text }: Phrase, ms: number) => ({
  fromMs: fromMs + ms,
  toMs: toMs + ms,
  text,
})

function detectedLanguage({ language }: Recognized): string {
  if (language === undefined)
    throw new Unprocessable('The spoken language could not be detected: set "language" and try again.')
  const code = readSpokenLanguage(language)
  if (code === undefined)
    throw new Unprocessable(`The spoken language "${language}" is not supported for transcripts.`)
  return code
}
