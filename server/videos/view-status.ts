import { checkPlayable } from '../encoding/renditions/playable.ts'
import type { EncodingProgress, VideoOverview } from '../encoding/renditions/playable-store.ts'
import { countSegments, secondsOf } from '../media/grid.ts'
import type { Video } from './schemas.ts'
import type { VideoStatus } from './status-schemas.ts'
import type { ReceivedSource, StoredVideo } from './store.ts'

/** The status in a list. */
export function viewOverview(overview: VideoOverview): Video['status'] {
  const { width, height, duration } = viewMedia(overview)
  return {
    state: overview.videoState,
    playable: checkPlayable(overview).state === 'ready',
    duration,
    width,
    height,
    ...(overview.videoState === 'failed' && overview.failure !== null && { failure: overview.failure }),
  }
}

export function viewStatus(
  row: StoredVideo,
  source: ReceivedSource | undefined,
  encoding: EncodingProgress | undefined,
): Omit<VideoStatus, 'transcript'> {
  const failure = encoding?.failure
  return {
    // Clients compare it with null until something is received.
    ingest: encoding?.videoState === 'missing' ? null : viewIngest(row, source),
    encoding: {
      playable: encoding !== undefined && checkPlayable(encoding).state === 'ready',
      qualities: encoding?.renditions.length
        ? viewQualities(encoding)
        : // The API has no field for an unusable file. A failed quality makes clients stop waiting.
          failure != null
          ? [{ type: 'hls', quality: '240p', status: 'failed', failure }]
          : [],
      metadata: viewMedia(encoding ?? { media: null, plan: null }),
    },
  }
}

function viewQualities({
  plan,
  renditions,
  segmentCounts,
}: EncodingProgress): VideoStatus['encoding']['qualities'] {
  const total = plan ? countSegments(plan) : 0
  return renditions.map(({ type, quality, state, failure }) => {
    const segments = type === 'hls' ? segmentCounts[quality] : undefined
    const progress = state === 'encoded' ? 100 : segments ? Math.floor((100 * segments) / total) : 0
    return { type, quality, status: state, progress, ...(failure !== null && { failure }) }
  })
}

function viewMedia({
  media,
  plan,
}: Pick<EncodingProgress, 'media' | 'plan'>): VideoStatus['encoding']['metadata'] {
  const { picture, sound } = media ?? {}
  const rounded = (n: number | undefined) => (n === undefined ? null : Math.round(n))
  return {
    width: rounded(picture?.width),
    height: rounded(picture?.height),
    bitrate: rounded(media?.bitrateKbps),
    // That of what viewers get: the source may be longer than the clip, or than the sandbox allows.
    duration: rounded(plan ? secondsOf(plan, plan.frames) : media?.durationSeconds),
    framerate: rounded(picture?.sourceRate),
    samplerate: rounded(sound?.sampleRate),
    videoCodec: picture?.codec ?? null,
    audioCodec: sound?.codec ?? null,
    aspectRatio: picture ? aspectRatio(picture) : null,
  }
}

const commonRatios = [
  [16, 9],
  [9, 16],
  [4, 3],
  [3, 4],
  [1, 1],
] as const

/** Rounded to common ratios: 854 x 480 is 16/9. */
function aspectRatio({ width, height }: { width: number; height: number }): string {
  const common = commonRatios.find(([x, y]) => Math.abs((width * y) / (height * x) - 1) < 0.01)
  if (common) return common.join('/')
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))
  const shared = divisor(Math.round(width), Math.round(height))
  return `${Math.round(width) / shared}/${Math.round(height) / shared}`
}

function viewIngest(row: StoredVideo, source: ReceivedSource | undefined): VideoStatus['ingest'] {
  const isUpload = row.source_type === 'upload'
  // The upload may have begun after its source was queried.
  if (isUpload && !source) return null
  const isDone = isUpload ? source?.state !== 'receiving' : source?.state === 'stored'
  const status = isUpload ? (isDone ? 'uploaded' : 'uploading') : isDone ? 'ingested' : 'ingesting'
  const isFetchFailed = !isUpload && source?.state === 'failed'
  const total = source?.total ?? null
  const isByBytes = source?.form === 'bytes' || source?.form === 'url'
  return {
    ...(source?.failure != null && { failure: source.failure }),
    // None of the published values says that a fetch has failed.
    ...(!isFetchFailed && { status }),
    filesize: source?.size ?? (isByBytes ? total : null),
    receivedBytes:
      source?.ranges.map(({ position, size }) => ({ from: position, to: position + size - 1, total })) ?? [],
    receivedParts: {
      parts: source?.parts ?? [],
      total: source?.form === 'parts' ? total : null,
    },
  }
}
