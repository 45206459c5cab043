import type { WorkerContext } from '../slice.ts'
import * as runs from './run-store.ts'
import { settleEncodings, settleUploads } from './settle-store.ts'
import { skipOpen } from './work-store.ts'

/** A key that nobody uses is not kept for longer. */
const forgottenMs = 7 * 24 * 3_600_000

/** Records which imported videos are encoded, and ends the runs that have nothing left to do. */
export async function settleImports({ db, log }: WorkerContext): Promise<void> {
  await settleUploads(db)
  await settleEncodings(db)
  for (const importId of await runs.completeRuns(db)) log.info({ importId }, 'an import is complete')
}

/** Cancels paused runs and previews that nobody has resumed, so that their keys are deleted. */
export async function cancelForgotten({ db, log, now }: WorkerContext): Promise<void> {
  for (const importId of await runs.listForgotten(db, new Date(now().getTime() - forgottenMs))) {
    await db.transaction().execute(async (trx) => {
      await runs.changeState(trx, importId, ['ready', 'paused', 'running'], { state: 'canceled' })
      await skipOpen(trx, importId, 'The import was not continued for a week.')
    })
    log.info({ importId }, 'an import was canceled, because it was not continued for a week')
  }
}
