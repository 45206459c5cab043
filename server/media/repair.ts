export type Packet = {
  stream: number
  pts: number | undefined
  dts: number | undefined
  seconds: number | undefined
  bytes: number
  /** Where in the file it is. */
  position: number | undefined
}

/** From a position in the file on, so many seconds are added to the timestamps of a stream. */
type Shift = { position: number; seconds: number }

/** What is to be done with each stream, by its index. */
export type Repair = Map<number, StreamRepair>
type StreamRepair = { firstSeconds: number; shifts: Shift[] }

/** A longer step between two packets of the file is a jump. */
const MAX_STEP_SECONDS = 10
/** How far a stream may lag behind the others in the file. */
const MAX_SKEW_SECONDS = 10
/** Decoding times never decrease; roundings and small faults do. */
const MAX_BACKWARD_SECONDS = 0.5
/** No stream reorders frames over more than that. */
const MAX_REORDERING_SECONDS = 10
const USUAL_STEP_SECONDS = 0.04
/** Each is a term of an expression that ffmpeg evaluates for each packet. */
const MAX_SHIFTS = 500

type Track = { first: number; shift: number; last: number | undefined; step: number; shifts: Shift[] }

/**
 * Follows the packets in the order of the file, in which streams are interleaved, and finds where timestamps jump:
 * after a jump, a stream goes on where it was. One damaged timestamp is two jumps, there and back. Another stream that
 * jumps by the same amount gets the same shift, so picture and sound stay together.
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
      ...{ first: time, shift: 0, last: undefined },
      ...{ step: seconds > 0 && seconds < 1 ? seconds : USUAL_STEP_SECONDS, shifts: [] },
    }
    tracks.set(stream, track)
    if (!fits(time + track.shift, track)) {
      const goesOnAt = track.last === undefined ? now! : track.last + track.step
      track.shift = known.findLast((shift) => fits(time + shift, track)) ?? goesOnAt - time
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

/** Put before all timestamps while they are repaired, so that the first one tells in what unit they are. */
const OFFSET_SECONDS = 10_000

/** Options in front of the input: its timestamps as they are, not corrected by ffmpeg in its own way. */
export const repairInput = ['-copyts', '-itsoffset', String(OFFSET_SECONDS)]

/**
 * A bitstream filter for ffmpeg. Presentation times that are far from the decoding time are put right as well. Before
 * ffmpeg 6 the filter gets timestamps in the unit of the output (Matroska: milliseconds) and TB is that of the input.
 */
export function repairFilter({ firstSeconds, shifts }: StreamRepair): string {
  const first = (firstSeconds + OFFSET_SECONDS).toFixed(6)
  const unit = `if(lt(abs(STARTDTS*TB/${first}-1),0.01),1/TB,1000)`
  const terms = shifts.map(
    ({ position, seconds }, i) =>
      `gte(POS,${position})*(${(seconds - (shifts[i - 1]?.seconds ?? 0)).toFixed(6)})`,
  )
  const shift = `(${[`-${OFFSET_SECONDS}`, ...terms].join('+')})*${unit}`
  // More than any time there is: one of both is missing.
  const isFar = `between(abs(PTS-DTS),${MAX_REORDERING_SECONDS}*${unit},1e15)`
  const duration = `if(gt(DURATION,${MAX_STEP_SECONDS}*${unit}),0,DURATION)`
  return `setts=pts='if(${isFar},DTS,PTS)+${shift}':dts='DTS+${shift}':duration='${duration}'`
}
