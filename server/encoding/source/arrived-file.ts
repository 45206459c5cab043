import { existsSync } from 'node:fs'
import { type ByteRange, isInRanges } from '../../lib/byte-ranges.ts'
import type { Files } from '../../lib/files/files.ts'
import { sourceKey } from '../../videos/files.ts'
import type { EncodingPlan } from '../tables.ts'
import { type Input, openInput } from './input.ts'
import { openFileBytes, openSourceBytes, type SourceBytes } from './source-bytes.ts'

/** A source of which some bytes have arrived. */
export type ArrivedFile = {
  videoId: string
  /** The upload in the file store. */
  handle: string
  path: string
  /** Ascending, without overlaps. */
  ranges: ByteRange[]
  /** The size of the complete file, if it is known. */
  total: number | undefined
}

/** The bytes of a source that is still arriving. `bytes` is the size of the complete file. */
export async function openArrivedBytes(
  { handle, path, ranges }: Pick<ArrivedFile, 'handle' | 'path' | 'ranges'>,
  bytes: number,
): Promise<SourceBytes> {
  const file = await openFileBytes(path)
  const has = (from: number, to: number) => isInRanges(ranges, { from, to })
  // The index of a file stays the same while its samples arrive.
  return { ...file, bytes, version: handle, has }
}

/** The file that a chunk is encoded from. */
export function openPlanned(files: Files, videoId: string, plan: EncodingPlan): Promise<Input> {
  const path = pathOfPlan(files, videoId, plan)
  if (path === undefined) return openInput(files, plan.key)
  return Promise.resolve({ path, bytes: plan.sourceBytes ?? 0, isServed: false, close: async () => {} })
}

/** The file that a chunk is copied from. */
export function openPlannedBytes(files: Files, videoId: string, plan: EncodingPlan): Promise<SourceBytes> {
  const path = pathOfPlan(files, videoId, plan)
  if (path === undefined) return openSourceBytes(files, plan.key)
  const { handle, ranges, bytes } = plan.partial!
  return openArrivedBytes({ handle, path, ranges }, bytes ?? 0)
}

/** The file of the upload, or of the source if the upload has just ended. Undefined if the plan does not read it. */
function pathOfPlan(files: Files, videoId: string, { partial }: EncodingPlan): string | undefined {
  if (!partial?.isRead) return undefined
  const path = files.pathOfUpload(partial.handle)
  return path !== undefined && existsSync(path) ? path : files.pathOf(sourceKey(videoId))
}
