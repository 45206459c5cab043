import type { Crowd } from './metadata-store.ts'

export type Point = { from: number; to: number; share: number; viewers: number }

const points = 100

const round = (value: number) => Math.round(value * 1000) / 1000

/** How many sessions saw each hundredth of a video, and which share of those that were played at all. */
export function retentionCurve({ sessions, edges }: Crowd, durationSeconds: number): Point[] {
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
