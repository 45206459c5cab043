import { createWriteStream } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { FileNotFoundError, type Files } from '../../lib/files/files.ts'
import { readImageSize } from '../../media/image-size.ts'
import { Unreadable } from '../../media/probe.ts'
import type { Overlay } from '../../media/video.ts'
import { placeWatermark, type WatermarkPosition } from '../../media/watermark.ts'
import { watermarkKey } from '../../videos/files.ts'
import type { EncodingPlan } from '../tables.ts'

const sandboxImage = new URL('sandbox.png', import.meta.url)

const sandboxPosition: WatermarkPosition = {
  top: { value: 5, unit: '%' },
  right: { value: 3, unit: '%' },
  width: { value: 30, unit: '%' },
}

/** Copies the images that are burnt into a video into the folder of the job. */
export async function openOverlays(
  files: Files,
  { videoId, plan, folder }: { videoId: string; plan: EncodingPlan; folder: string },
): Promise<Overlay[]> {
  const overlays: Overlay[] = []
  if (plan.watermark) {
    const path = join(folder, 'watermark.png')
    await pipeline(await readWatermark(files, videoId), createWriteStream(path))
    overlays.push({ path, ...plan.watermark })
  }
  if (plan.isWatermarked) overlays.push(await openSandboxOverlay(plan, join(folder, 'sandbox.png')))
  return overlays
}

async function readWatermark(files: Files, videoId: string): Promise<Readable> {
  try {
    return await files.read(watermarkKey(videoId))
  } catch (error) {
    if (!(error instanceof FileNotFoundError)) throw error
    throw new Unreadable('The image of the watermark is missing.', { cause: error })
  }
}

async function openSandboxOverlay({ rungs }: EncodingPlan, path: string): Promise<Overlay> {
  const bytes = await readFile(sandboxImage)
  // A copy, because ffmpeg may run as a user who cannot read the folder of the program.
  await writeFile(path, bytes)
  return { path, area: placeWatermark(readImageSize(bytes)!, sandboxPosition, rungs.at(-1)!), opacity: 1 }
}
