import type { Context } from '../context.ts'
import type { Encoding } from '../encoding/renditions/encoding-store.ts'
import * as renditions from '../encoding/renditions/rendition-store.ts'
import { writeSegments } from '../encoding/renditions/write-segments.ts'
import type { EncodingPlan, SegmentsRow } from '../encoding/tables.ts'
import { findSegment, segmentOf } from '../media/grid.ts'
import type { FrameInput } from '../media/thumbnails.ts'

type Deps = Pick<Context, 'db' | 'files'>

export type PlannedEncoding = Encoding & { plan: EncodingPlan }

/** The qualities in which a segment is encoded, the lowest first. */
export async function findQualitiesWithSegment(
  { db }: Deps,
  { video_id: videoId, plan }: PlannedEncoding,
  segment: number,
): Promise<SegmentsRow[]> {
  const rows = await renditions.listRowsWithSegment(db, videoId, segment)
  return plan.rungs.flatMap(({ quality }) => rows.filter(({ rendition }) => rendition === quality))
}

/** Whether a quality that is copied from the source lacks frames of the grid. */
export const isSparse = ({ hasGaps, rungs }: EncodingPlan, quality: string) =>
  hasGaps === true && rungs.at(-1)!.quality === quality

/**
 * Writes the segment that contains a frame to a file, in the lowest or in the best quality that has it. Returns the
 * frame in that file; undefined when the segment is not encoded.
 */
export async function writeSegmentOfFrame(
  deps: Deps,
  encoding: PlannedEncoding,
  { frame, quality, path }: { frame: number; quality: 'lowest' | 'best'; path: string },
): Promise<FrameInput | undefined> {
  const { plan } = encoding
  const segment = findSegment(plan, frame)
  const row = (await findQualitiesWithSegment(deps, encoding, segment)).at(quality === 'lowest' ? 0 : -1)
  if (!row || !(await writeSegments(deps, row.rendition, [{ row, segment }], path))) return undefined
  const rate = isSparse(plan, row.rendition) ? plan.rate : undefined
  return { input: path, frame: frame - segmentOf(plan, segment).fromFrame, rate }
}
