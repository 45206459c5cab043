import { messages } from '../messages/messages.ts'
import { formatNumber } from '../ui/format.ts'
import type { Upload } from './types.ts'

/** The state of many uploads in one line. `fraction` is undefined if nothing is on its way. */
export function summarize(list: readonly Upload[]): { label: string; fraction: number | undefined } {
  const count = (...states: Upload['state'][]) => list.filter(({ state }) => states.includes(state)).length
  const sum = (read: (upload: Upload) => number) => valid.reduce((total, each) => total + read(each), 0)
  const valid = list.filter(({ state }) => state !== 'failed')
  const active = count('waiting', 'uploading')
  const stopped = count('paused', 'interrupted')
  const failed = count('failed')
  const { upload } = messages
  const done = count('processing', 'ready')
  const label =
    active > 0
      ? upload.summaryActive(formatNumber(done), formatNumber(valid.length))
      : stopped > 0
        ? upload.summaryStopped(stopped)
        : done > 0
          ? upload.summaryDone(done)
          : upload.summaryFailed(failed)
  return {
    label: failed > 0 && valid.length > 0 ? `${label}, ${upload.summaryMoreFailed(failed)}` : label,
    fraction: active + stopped > 0 ? sum(({ sent }) => sent) / sum(({ size }) => size) : undefined,
  }
}
