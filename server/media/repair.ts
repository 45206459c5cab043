export type Packet = {
  stream: number
  pts: number | undefined
  dts: number | undefined
  seconds: number | undefined
  bytes: number
  /** The byte offset in the file. */
  position: number | undefined
}

/** From this byte offset on, `seconds` is added to the timestamps of a stream. */
type Shift = { position: number; seconds: number }

/** The repair of each stream, by its index. */
export type Repair = Map<number, StreamRepair>
type StreamRepair = { firstSeconds: number; shifts: Shift[] }

/** A longer step between two consecutive packets is a jump. */
const MAX_STEP_SECONDS = 10
/** The maximum time that a stream may lag behind the others in the file. */
const MAX_SKEW_SECONDS = 10
/** Decoding times never decrease, except by rounding and small errors. */
const MAX_BACKWARD_SECONDS = 0.5
/** No stream reorders frames over a longer time. */
const MAX_REORDERING_SECONDS = 10
const USUAL_STEP_SECONDS = 0.04
/** Each shift is a term of an expression that ffmpeg evaluates for every packet. */
const MAX_SHIFTS = 500

type Track = { first: number; shift: number; last: number | undefined; step: number; shifts: Shift[] }

/**
 * Reads the packets in file order, with interleaved streams, and finds jumps in the timestamps. After a jump, a stream
 * continues where it was before. A single damaged timestamp is two jumps, there and back. If another stream jumps by the
 * same amount, it gets the same shift, so that video and audio stay in sync.
 */
export function createRepair(): {
  add(packet: Packet): void
  finish(): Repair | undefined
} {
  const tracks = new Map<number, Track>()
  const known = [0]
  let now: number | undefined
  let count = 0
  let isPossible = true

  const fits = (at: number, { last = Number.NEGATIVE_INFINITY }: Track) =>
    at >= last - MAX_BACKWARD_SECONDS &&
    (now === undefined || (at <= now + MAX_STEP_SECONDS && at >= now - MAX_SKEW_SECONDS))

  function add({ stream, pts, dts, seconds = 0, position }: Packet): void {
    const time = dts ?? pts
    if (time === undefined || !isPossible) return
    const track = tracks.get(stream) ?? {
      first: time,
      shift: 0,
      last: undefined,
      step: seconds > 0 && seconds < 1 ? seconds : USUAL_STEP_SECONDS,
      shifts: [],
    }
    tracks.set(stream, track)
    if (!fits(time + track.shift, track)) {
      const expected = track.last === undefined ? now! : track.last + track.step
      track.shift = known.findLast((shift) => fits(time + shift, track)) ?? expected - time
      known.push(track.shift)
      count += 1
      isPossible = position !== undefined && count <= MAX_SHIFTS
      track.shifts.push({ position: position ?? 0, seconds: track.shift })
    }
    const at = time + track.shift
    const step = at - (track.last ?? at)
    if (step > 0 && step < 1) track.step = step
    track.last = Math.max(track.last ?? at, at)
    now = Math.max(now ?? at, at)
  }

  return {
    add,
    finish: () =>
      isPossible
        ? new Map([...tracks].map(([stream, { first, shifts }]) => [stream, { firstSeconds: first, shifts }]))
        : undefined,
  }
}

/** Added to all timestamps during the repair, so that the first one reveals the unit of the timestamps. */
const OFFSET_SECONDS = 10_000

/** Input options that keep the original timestamps, so that ffmpeg does not correct them itself. */
export const repairInput = ['-copyts', '-itsoffset', String(OFFSET_SECONDS)]

/**
 * A bitstream filter for ffmpeg. It also corrects presentation times that are far from the decoding time. Before ffmpeg 6,
 * the filter gets timestamps in the unit of the output (Matroska: milliseconds), while TB is the unit of the input.
 */
export function repairFilter({ firstSeconds, shifts }: StreamRepair): string {
  const first = (firstSeconds + OFFSET_SECONDS).toFixed(6)
  const unit = `if(lt(abs(STARTDTS*TB/${first}-1),0.01),1/TB,1000)`
  const terms = shifts.map(
    ({ position, seconds }, i) =>
      `gte(POS,${position})*(${(seconds - (shifts[i - 1]?.seconds ?? 0)).toFixed(6)})`,
  )
  const shift = `(${[`-${OFFSET_SECONDS}`, ...terms].join('+')})*${unit}`
  // A larger difference than any real time means that one of the two is missing.
  const isFar = `between(abs(PTS-DTS),${MAX_REORDERING_SECONDS}*${unit},1e15)`
  const duration = `if(gt(DURATION,${MAX_STEP_SECONDS}*${unit}),0,DURATION)`
  return `setts=pts='if(${isFar},DTS,PTS)+${shift}':dts='DTS+${shift}':duration='${duration}'`
}
