import { randomUUID } from 'node:crypto'
import { copyFile, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { encodeChunk, storeSegments } from '../../../server/encoding/chunks/encode-chunk.ts'
import type { ClaimedChunk } from '../../../server/encoding/chunks/encode-chunk-store.ts'
import type { EncodedRendition } from '../../../server/encoding/chunks/encoded-rendition.ts'
import { listWork, type NewChunk } from '../../../server/encoding/chunks/schedule.ts'
import { examine } from '../../../server/encoding/plan/examine.ts'
import { acceptMp4, makePlan } from '../../../server/encoding/plan/plan.ts'
import { planCopies } from '../../../server/encoding/plan/plan-copies.ts'
import type { EncodingPlan } from '../../../server/encoding/tables.ts'
import { openDiskFiles } from '../../../server/lib/files/disk.ts'
import { findTools } from '../../../server/media/ffmpeg.ts'
import type { SourceMedia } from '../../../server/media/source-media.ts'

type PlannedVideo = Parameters<typeof makePlan>[2]

export type Work = { media: SourceMedia; plan: EncodingPlan; chunks: NewChunk[] }

/** Encodes chunks as the worker does, with files in a folder and without a service. */
export async function openChunkEncoder(dataDir: string, { stallMs = 20_000, copiesSources = false } = {}) {
  const files = await openDiskFiles(join(dataDir, 'files'))
  const tools = await findTools({ ffmpeg: 'ffmpeg', ffprobe: 'ffprobe', stallMs })
  const config = { dataDir, copiesSources, sandbox: { seconds: 30, hasWatermark: true, hours: 24 } }
  const deps = { files, tools, config, space: { checkNew() {} } }
  return {
    files,
    async plan(videoId: string, source: string, video: Partial<PlannedVideo> = {}): Promise<Work> {
      await mkdir(join(dataDir, 'files/videos', videoId), { recursive: true })
      await copyFile(source, join(dataDir, 'files/videos', videoId, 'source'))
      const defaults: PlannedVideo = { environment: 'production', clip: null, watermark: null }
      const planned = { ...defaults, ...video }
      const examined = await examine(deps, videoId, acceptMp4(deps, planned))
      const plan = await planCopies(deps, examined, makePlan(deps, examined, planned), planned)
      return { media: examined.media, plan, chunks: listChunks(plan) }
    },
    async encode(
      videoId: string,
      { media, plan }: Work,
      chunk: NewChunk,
      signal: AbortSignal,
    ): Promise<EncodedRendition[]> {
      const folder = join(dataDir, 'work', randomUUID())
      await mkdir(folder, { recursive: true })
      const claimed = { ...chunk, video_id: videoId, decoding: 'full' } as ClaimedChunk & { decoding: 'full' }
      const all: EncodedRendition[] = []
      try {
        await encodeChunk(
          { files, tools },
          { chunk: claimed, plan, media, folder, signal },
          async (encoded) => {
            await storeSegments(files, encoded)
            for (const each of encoded) {
              const before = all.find(({ key }) => key === each.key)
              if (before) before.sizes.push(...each.sizes)
              else all.push(each)
            }
          },
        )
        return all
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
  }
}

/** Chunks of all qualities: first one segment, then two, and so on. Audio is one chunk. */
function listChunks(plan: EncodingPlan): NewChunk[] {
  const work = listWork(plan)
  const [video] = work
  if (!video) return []
  const qualities = plan.rungs.map(({ quality }) => quality)
  const chunks: NewChunk[] = []
  for (let first = 0, segments = 1; first < video.segments; first += segments++) {
    const length = Math.min(segments, video.segments - first)
    chunks.push({ ...video, qualities, first_segment: first, segments: length })
  }
  return [...chunks, ...work.filter(({ track }) => track === 'sound')]
}
