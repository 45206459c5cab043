import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { codecOf, type Fragment, FragmentReader } from '../../media/boxes.ts'
import type { Segment } from '../../media/grid.ts'
import { newSegmentsKey } from '../../videos/files.ts'
import type { ClaimedChunk } from './encode-chunk-store.ts'
import type { EncodedRendition } from './encoded-rendition.ts'

/** Receives the segments of a chunk, in order, while the rest is still being encoded. */
export type OnSegments = (encoded: EncodedRendition[]) => Promise<void>

type OutputFile = { rendition: string; path: string }
type ReadFile = OutputFile & { reader: FragmentReader; key: string; fragments: Fragment[] }

/** The files of a chunk's qualities, which ffmpeg writes at the same time. Their segments are passed on when complete. */
export class VideoOutput {
  readonly #chunk: ClaimedChunk
  readonly #segments: Segment[]
  readonly #onSegments: OnSegments
  readonly #files: ReadFile[]
  /** How many segments were passed on. */
  #position = 0
  #last: Promise<void> = Promise.resolve()
  #isBusy = false

  constructor(
    files: OutputFile[],
    { chunk, segments, onSegments }: { chunk: ClaimedChunk; segments: Segment[]; onSegments: OnSegments },
  ) {
    this.#chunk = chunk
    this.#segments = segments
    this.#onSegments = onSegments
    this.#files = files.map(({ rendition, path }) => ({
      rendition,
      path,
      reader: new FragmentReader(path),
      fragments: [],
      key: newSegmentsKey(chunk.video_id, rendition, chunk.first_segment),
    }))
  }

  /** Passes on the segments that are complete in all qualities. Does nothing while the last ones are being recorded. */
  async advance(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      this.#last = this.#passOn((reader) => reader.readNew())
      await this.#last
    } finally {
      this.#isBusy = false
    }
  }

  /** Waits for segments that are being recorded. */
  async settle(): Promise<void> {
    await this.#last.catch(() => {})
  }

  /** Passes on the rest. */
  async finish(): Promise<void> {
    await this.#last
    await this.#passOn((reader) => reader.readAll())
    for (const { fragments } of this.#files)
      if (fragments.length !== this.#segments.length) throw wrongSegments(fragments, this.#segments)
  }

  async #passOn(read: (reader: FragmentReader) => Promise<Fragment[]>): Promise<void> {
    for (const file of this.#files) {
      file.fragments.push(...(await read(file.reader)))
      checkFragments(file.fragments, this.#segments)
    }
    const position = this.#position
    const end = Math.min(...this.#files.map(({ fragments }) => fragments.length))
    if (end === position) return
    const encoded = this.#files.map((file) => this.#renditionOf(file, position, end))
    await this.#onSegments(await Promise.all(encoded))
    this.#position = end
  }

  async #renditionOf(
    { rendition, path, key, reader, fragments }: ReadFile,
    position: number,
    end: number,
  ): Promise<EncodedRendition> {
    const isStart = this.#chunk.first_segment === 0 && position === 0
    const bytes = isStart ? await readBytes(path, reader.init!.to) : undefined
    const some = fragments.slice(position, end)
    return {
      rendition,
      key,
      position,
      sizes: some.map(({ size }) => size),
      initialization: bytes && { codec: codecOf(bytes), bytes },
      segments: some.map(
        ({ from, size }) =>
          (store) =>
            store(createReadStream(path, { start: from, end: from + size - 1 })),
      ),
    }
  }
}

async function readBytes(path: string, length: number): Promise<Buffer> {
  await using file = await open(path)
  return (await file.read(Buffer.alloc(length), 0, length, 0)).buffer
}

/** Chunks join without a gap only if each segment has exactly the planned number of frames. */
function checkFragments(fragments: Fragment[], segments: Segment[]): void {
  if (fragments.some(({ samples }, i) => samples !== segments[i]?.frames))
    throw wrongSegments(fragments, segments)
}

function wrongSegments(fragments: Fragment[], segments: Segment[]): Error {
  const actual = fragments.map(({ samples }) => samples).join(', ')
  const expected = segments.map(({ frames }) => frames).join(', ')
  return new Error(`ffmpeg made segments of ${actual || 'no'} frames instead of ${expected}`)
}
