import type { RetentionGroup } from './metadata-store.ts'

export type Point = { from: number; to: number; share: number; viewers: number }

const points = 100

const round = (value: number) => Math.round(value * 1000) / 1000

/** For each hundredth of a video: how many sessions watched it, and their share of all sessions with a play. */
export function retentionCurve({ sessions, edges }: RetentionGroup, durationSeconds: number): Point[] {
  const changes = new Array<number>(points + 1).fill(0)
  for (const [at, change] of edges ?? []) changes[Math.min(Math.max(at, 0), points)]! += change
  let viewers = 0
  return Array.from({ length: points }, (_, i) => {
    viewers += changes[i]!
    return {
      from: round((i * durationSeconds) / points),
      to: round(((i + 1) * durationSeconds) / points),
      share: sessions === 0 ? 0 : viewers / sessions,
      viewers,
    }
  })
}
