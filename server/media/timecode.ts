import type { Rational } from './probe.ts'

/** `HH:MM:SS`, `HH:MM:SS.mmm`, `HH:MM:SS:frame` or seconds. */
export const timecodePattern =
  '^(?:\\d{1,3}:[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6}|:\\d{1,3})?|\\d{1,7}(?:\\.\\d{1,6})?)$'

/**
 * Half a millisecond. Most frames do not begin at a whole millisecond: without this tolerance, 0.033 s would select the
 * frame before the one that begins at 0.0333 s.
 */
const roundingSeconds = 0.0005

/** The seconds of a timecode. A frame number counts from the first frame that begins in its second. */
export function secondsOfTimecode(rate: Rational, timecode: string): number {
  const [, hours, minutes, seconds, frames] =
    /^(?:(\d+):(\d+):)?(\d+(?:\.\d+)?)(?::(\d+))?$/.exec(timecode) ?? []
  const time = Number(hours ?? 0) * 3_600 + Number(minutes ?? 0) * 60 + Number(seconds)
  if (frames === undefined) return time
  const perSecond = rate.num / rate.den
  return (Math.ceil((time - roundingSeconds) * perSecond) + Number(frames)) / perSecond
}

/** The number of the frame that is shown at a timecode. */
export const frameOfTimecode = (rate: Rational, timecode: string) =>
  Math.floor((secondsOfTimecode(rate, timecode) + roundingSeconds) * (rate.num / rate.den))
