import { startWorkLoop, type WorkLoop } from '../lib/work-loop.ts'
import { transcriptFailures } from './metrics.ts'
import { continueTranscript, endTranscript, type TranscriptionContext } from './recognition/transcribe.ts'
import { type CountedWork, withRetries } from './retries.ts'
import { createServerFetch } from './server-request.ts'
import * as transcripts from './store.ts'
import { canSummarize } from './summaries/request.ts'
import * as summaries from './summaries/store.ts'
import { failSummary, generateSummary } from './summaries/summarize.ts'

/** Transcribes videos and generates summaries, as far as the operator has configured it for this process. */
export function startTranscription(base: Omit<TranscriptionContext, 'serverFetch'>): WorkLoop {
  const { config, log } = base
  const serverFetch = createServerFetch()
  const context = { ...base, serverFetch }
  const { transcription } = config
  const canTranscribe = transcription.url !== undefined || transcription.whisperModel !== undefined
  const loops = [
    ...(canTranscribe ? [transcriptWork(context)] : []),
    ...(canSummarize(config) ? [summaryWork(context)] : []),
  ].map((work) => startWorkLoop(withRetries(work, log), log))
  return {
    wake() {
      for (const loop of loops) loop.wake()
    },
    async close() {
      await Promise.all(loops.map((loop) => loop.close()))
      await serverFetch.close()
    },
  }
}

function transcriptWork(context: TranscriptionContext): CountedWork {
  const { config, db } = context
  return {
    name: 'transcript',
    concurrency: config.transcription.concurrency,
    claim: (owner) => transcripts.claimTranscript(db, owner),
    renew: (lease) => transcripts.renewTranscript(db, lease),
    release: (lease, options) => transcripts.releaseTranscript(db, lease, options),
    attemptsOf: async ({ id }) => (await transcripts.findTranscript(db, id))?.attempts ?? 0,
    run: (lease, signal) => continueTranscript(context, lease, signal),
    async giveUp(lease, reason) {
      await endTranscript(context, lease, 'failed', reason)
      context.metrics.count(transcriptFailures, { kind: 'transcript' })
    },
  }
}

function summaryWork(context: TranscriptionContext): CountedWork {
  const { db } = context
  return {
    name: 'summary',
    concurrency: 1,
    claim: (owner) => summaries.claimSummary(db, owner),
    renew: (lease) => summaries.renewSummary(db, lease),
    release: (lease, options) => summaries.releaseSummary(db, lease, options),
    attemptsOf: async (lease) => (await summaries.findLeased(db, lease))?.attempts ?? 0,
    run: (lease, signal) => generateSummary(context, lease, signal),
    async giveUp(lease, reason) {
      await failSummary(context, lease, reason)
      context.metrics.count(transcriptFailures, { kind: 'summary' })
    },
  }
}
