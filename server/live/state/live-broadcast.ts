import type { Content } from '../../playback/send.ts'
import { type Init, type NewPart, type NewSegment, Rendition } from './rendition.ts'

/** Everything that happens to a broadcast that viewers can see. */
export type BroadcastEvent =
  | ({ kind: 'init'; quality: string } & Init)
  | ({ kind: 'part'; quality: string } & NewPart)
  | ({ kind: 'segment'; quality: string } & NewSegment)
  | { kind: 'stored'; quality: string; sequence: number }
  /** The store was full. */
  | { kind: 'dropped'; quality: string; sequence: number }
  /** `qualities` are those that viewers can watch now, the best first. */
  | { kind: 'visible'; targetSeconds: number; qualities: string[] }
  | { kind: 'end' }

/** The broadcasts that this process owns, by their ids. */
export type Broadcasts = Map<string, LiveBroadcast>

type Identity = { id: string; liveStreamId: string; fence: number; windowMs: number }

/**
 * A broadcast as viewers see it. The owner builds it from what the encoder sends. Other processes build the same from
 * the events of the owner, or from the rows of the database.
 */
export class LiveBroadcast {
  readonly id: string
  readonly liveStreamId: string
  /** The owner that it comes from. */
  readonly fence: number
  readonly #windowMs: number
  readonly #renditions = new Map<string, Rendition>()
  readonly #subscribers = new Set<(event: BroadcastEvent) => void>()
  /** The playlists that were written since the last event, by what viewers asked for. */
  readonly playlists = new Map<string, Content>()
  readonly #closed = new AbortController()
  #targetSeconds: number | undefined
  #qualities: string[] = []
  #isEnded = false

  constructor({ id, liveStreamId, fence, windowMs }: Identity) {
    this.id = id
    this.liveStreamId = liveStreamId
    this.fence = fence
    this.#windowMs = windowMs
  }

  /** Undefined until viewers can watch it. */
  get targetSeconds(): number | undefined {
    return this.#targetSeconds
  }

  get qualities(): readonly string[] {
    return this.#qualities
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Aborted when this object receives no more events, for instance because another process owns the broadcast. */
  get closed(): AbortSignal {
    return this.#closed.signal
  }

  get renditions(): ReadonlyMap<string, Rendition> {
    return this.#renditions
  }

  rendition(quality: string): Rendition | undefined {
    return this.#renditions.get(quality)
  }

  apply(event: BroadcastEvent): void {
    this.#change(event)
    this.playlists.clear()
    for (const send of this.#subscribers) send(event)
  }

  close(): void {
    this.#closed.abort()
    this.#subscribers.clear()
    for (const { window } of this.#renditions.values()) window.close()
  }

  /** Calls the function for each further event. Returns what ends the subscription. */
  subscribe(send: (event: BroadcastEvent) => void): () => void {
    this.#subscribers.add(send)
    return () => this.#subscribers.delete(send)
  }

  #change(event: BroadcastEvent): void {
    switch (event.kind) {
      case 'init':
        this.#renditionOf(event.quality).addInit(event)
        break
      case 'part':
        this.#renditionOf(event.quality).addPart(event)
        break
      case 'segment':
        this.#renditionOf(event.quality).addSegment(event)
        break
      case 'stored':
        this.#renditionOf(event.quality).markStored(event.sequence)
        break
      case 'dropped':
        this.#renditionOf(event.quality).drop(event.sequence)
        break
      case 'visible':
        this.#targetSeconds = event.targetSeconds
        this.#qualities = event.qualities
        break
      case 'end':
        this.#isEnded = true
        for (const { window } of this.#renditions.values()) window.end()
    }
  }

  #renditionOf(quality: string): Rendition {
    const known = this.#renditions.get(quality)
    if (known) return known
    const rendition = new Rendition(this.#windowMs)
    this.#renditions.set(quality, rendition)
    return rendition
  }
}
