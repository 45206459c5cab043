import { useState } from 'react'
import type { Broadcast } from '../../../api/live-streams.ts'

export type Sample = { atMs: number; bitRate: number }

/** Five minutes, as the values change every second. */
const maxSamples = 300

/** The bit rates since the page was opened. They are not stored on the server. */
export function useHealthHistory(broadcast: Broadcast | undefined): Sample[] {
  const [history, setHistory] = useState<{ of: Broadcast | undefined; samples: Sample[] }>({
    of: undefined,
    samples: [],
  })
  const { of } = history
  if (broadcast === of) return history.samples
  const isSame = broadcast?.broadcastId === of?.broadcastId
  const before = isSame ? history.samples : []
  const bitRate = broadcast?.health?.bitRate
  const samples =
    typeof bitRate === 'number' ? [...before, { atMs: Date.now(), bitRate }].slice(-maxSamples) : before
  setHistory({ of: broadcast, samples })
  return samples
}
