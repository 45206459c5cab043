import { LRUCache } from 'lru-cache'
import { overheadSeconds } from './schedule.ts'

type Sums = { seconds: number; work: number }

/** What a slow core takes for a million pixels. Until something is measured, the lowest quality rather runs ahead. */
const initialSecondsPerWork = 0.03
/** How much of the earlier measurements remains with each new one. */
const decay = 0.7
const maxVideos = 1_000

/** Measures how fast this process encodes. Content makes a difference, so each video has its own speed. */
export class EncodingSpeed {
  readonly #videos = new LRUCache<string, Sums>({ max: maxVideos })
  #all: Sums | undefined

  record(videoId: string, measured: Sums): void {
    const seconds = Math.max(0, measured.seconds - overheadSeconds)
    const add = (sums: Sums | undefined) => ({
      seconds: seconds + decay * (sums?.seconds ?? 0),
      work: measured.work + decay * (sums?.work ?? 0),
    })
    this.#all = add(this.#all)
    this.#videos.set(videoId, add(this.#videos.get(videoId)))
  }

  secondsPerWork(videoId: string): number {
    const sums = this.#videos.get(videoId) ?? this.#all
    return sums ? sums.seconds / sums.work : initialSecondsPerWork
  }
}
