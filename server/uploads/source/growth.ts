// Examining a source costs more the more of it has arrived, so it is done again only after it has grown by a part of it.

const minBytes = 1024 * 1024
const factor = 1.2
/** A slow upload is examined at these times, so that viewers do not wait for long. */
const maxSeconds = 20
/** All of what has arrived may be copied for that, which takes a second for each of several hundred megabytes. */
const bytesPerSecond = 50 * 1024 * 1024

export type Growth = {
  examinedBytes: number
  examinedAt: Date | null
  arrivedBytes: number
  now: Date
}

/** Whether a source has grown enough to be examined again. */
export function isDue({ examinedBytes, examinedAt, arrivedBytes, now }: Growth): boolean {
  if (arrivedBytes < examinedBytes + minBytes) return false
  if (examinedAt === null || arrivedBytes >= factor * examinedBytes) return true
  const seconds = (now.getTime() - examinedAt.getTime()) / 1_000
  return seconds >= maxSeconds + examinedBytes / bytesPerSecond
}
