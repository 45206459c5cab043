import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Context } from '../../context.ts'
import { withWorkFolder } from '../../lib/work.ts'
import { runFfmpeg } from '../../media/ffmpeg.ts'
import { fit } from '../../media/images.ts'
import { keyFrameArgs } from '../../media/thumbnails.ts'
import { liveSegmentKey } from '../state/files.ts'
import type { PictureSegment } from './store.ts'

export type FrameDeps = Pick<Context, 'config' | 'files' | 'space'>

const maxSize = { width: 1_280, height: 1_280 }
/** More than a key frame of 4K has. It comes first in a segment. */
const maxReadBytes = 4 * 1024 ** 2
/** A usual frame takes 0.1 s. */
const limits = { cpuSeconds: 20, fileBytes: 16 * 1024 ** 2 }

/** Decodes the key frame that the segment begins with, as a JPEG. */
export function makeFrame(deps: FrameDeps, segment: PictureSegment): Promise<Buffer> {
  const { config, files } = deps
  return withWorkFolder(deps, async (folder) => {
    const input = join(folder, 'segment.mp4')
    const output = join(folder, 'frame.jpg')
    const key = liveSegmentKey(segment.broadcast_id, segment)
    async function* joined() {
      yield segment.init
      yield* await files.read(key, { from: 0, to: maxReadBytes - 1 })
    }
    await pipeline(joined(), createWriteStream(input))
    const { ffmpeg, encodeStallMs: stallMs } = config
    const args = keyFrameArgs({ input, size: fit(segment, maxSize), output })
    await runFfmpeg({ ffmpeg, stallMs }, args, { limits })
    return readFile(output)
  })
}

/** Enough for a thumbnail. A larger frame costs more to decode. */
const enoughPixels = 480

/** The smallest size that is enough, or else the largest. */
export function chooseSegment(segments: PictureSegment[]): PictureSegment | undefined {
  const shorterSide = ({ width, height }: PictureSegment) => Math.min(width, height)
  const sorted = segments.toSorted((a, b) => shorterSide(a) - shorterSide(b))
  return sorted.find((each) => shorterSide(each) >= enoughPixels) ?? sorted.at(-1)
}
