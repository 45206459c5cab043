import { box, fullBox, matrix, text, u16, u32 } from '../../../media/write-boxes.ts'
import {
  type InitTracks,
  parameterSetsOf,
  readSegment,
  type SampleRun,
  type TrackKind,
} from './read-segment.ts'
import { inPieces, movieTimescale, SampleTable, u64 } from './sample-table.ts'

export type RecordedSegment = {
  bytes: number
  /** What its init segment says. */
  tracks: InitTracks
  read(): Promise<Buffer>
}

/** A segment in the store is not what its row says. */
export class DamagedSegmentError extends Error {}

const kinds: TrackKind[] = ['video', 'audio']

/**
 * Joins segments to one MP4 without encoding. The segments are copied as they are, with their own boxes, and an index at
 * the end says where the samples are. It is written while the segments are read: only the index is in memory, which has
 * about 20 bytes for each frame.
 */
export async function* writeMp4(segments: RecordedSegment[]): AsyncGenerator<Buffer> {
  const tables = createTables(segments)
  const repeats = countVideoFormats(segments) > 1
  const setsOf = ({ tracks: { video } }: RecordedSegment) =>
    repeats && video ? parameterSetsOf(video) : Buffer.alloc(0)
  const fileType = box('ftyp', text('isom'), u32(0x200), text('isomiso2avc1mp41'))
  const total = segments.reduce((sum, segment) => sum + segment.bytes + setsOf(segment).length, 0)
  const header = Buffer.concat([u32(1), text('mdat'), u64(16 + total)])
  yield fileType
  yield header
  let offset = fileType.length + header.length
  for await (const { segment, data } of readAhead(segments)) {
    const { runs, bytes } = insertParameterSets(segment.tracks, data, setsOf(segment))
    for (const { trackId, samples, ...run } of runs) {
      const kind = kinds.find((each) => segment.tracks[each]?.id === trackId)
      if (kind && samples.length > 0) tables.get(kind)?.add(offset + run.offset, samples)
    }
    offset += bytes.length
    yield bytes
  }
  yield* writeIndex([...tables.values()].filter(({ start }) => start !== undefined))
}

/** The first epoch with a track describes it. */
function createTables(segments: RecordedSegment[]): Map<TrackKind, SampleTable> {
  const epochs = [...new Set(segments.map(({ tracks }) => tracks))]
  const tables = kinds.flatMap((kind): [TrackKind, SampleTable][] => {
    const track = epochs.find((each) => each[kind])?.[kind]
    return track ? [[kind, new SampleTable(kind, track)]] : []
  })
  return new Map(tables)
}

const countVideoFormats = (segments: RecordedSegment[]) =>
  new Set(segments.flatMap(({ tracks: { video } }) => video?.entry.toString('latin1') ?? [])).size

/**
 * When the size of the video changes, its parameter sets are written in front of the first frame of every segment, where a
 * decoder finds them wherever it begins. After a seek, ffmpeg 5 does not notice a change that is only in the index.
 */
function insertParameterSets(
  { video }: InitTracks,
  data: Buffer,
  sets: Buffer,
): { runs: SampleRun[]; bytes: Buffer } {
  const runs = [...readSegment(data)]
  if (sets.length === 0) return { runs, bytes: data }
  const first = runs.find(({ trackId, samples }) => trackId === video?.id && samples.length > 0)
  const at = first?.offset ?? data.length
  const bytes = Buffer.concat([data.subarray(0, at), sets, data.subarray(at)])
  const shifted = runs.map((run) => {
    if (run !== first) return { ...run, offset: run.offset + (run.offset > at ? sets.length : 0) }
    const [sample, ...others] = run.samples
    return { ...run, samples: [{ ...sample!, size: sample!.size + sets.length }, ...others] }
  })
  return { runs: shifted, bytes }
}

/** Remote stores take a while to respond. */
const maxReadAhead = 4

async function* readAhead(
  segments: Iterable<RecordedSegment>,
): AsyncGenerator<{ segment: RecordedSegment; data: Buffer }> {
  const pending: Promise<{ segment: RecordedSegment; data: Buffer }>[] = []
  const iterator = segments[Symbol.iterator]()
  const startNext = () => {
    const { value: segment, done } = iterator.next()
    if (done) return
    const reading = segment.read().then((data) => ({ segment, data }))
    // It is reported where it is awaited.
    reading.catch(() => {})
    pending.push(reading)
  }
  for (let i = 0; i < maxReadAhead; i++) startNext()
  for (let next = pending.shift(); next; next = pending.shift()) {
    const read = await next
    if (read.data.length !== read.segment.bytes)
      throw new DamagedSegmentError(
        `a segment has ${read.data.length} instead of ${read.segment.bytes} bytes`,
      )
    startNext()
    yield read
  }
}

function* writeIndex(tables: SampleTable[]): Generator<Buffer> {
  const origin = Math.min(...tables.map(({ start }) => start ?? Number.POSITIVE_INFINITY))
  const traks = tables.map((table, i) => table.finish(i + 1, origin))
  const duration = Math.max(0, ...traks.map(({ end }) => end))
  const movieHeader = fullBox(
    ...(['mvhd', 1, 0, u64(0, 0), u32(movieTimescale), u64(duration)] as const),
    ...[u32(0x10000), u16(0x100, 0), u32(0, 0), matrix, u32(0, 0, 0, 0, 0, 0), u32(tables.length + 1)],
  )
  yield* inPieces('moov', movieHeader, ...traks.flatMap(({ pieces }) => pieces))
}
