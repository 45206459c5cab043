import type { Context } from '../context.ts'
import type { EncodingPlan } from '../encoding/tables.ts'
import { ApiError, httpErrors, notFound } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { readLanguage } from '../lib/languages.ts'
import { captionPlaylist, captionSegment } from '../media/caption-segments.ts'
import { withoutExternalContent } from '../media/webvtt.ts'
import { playlistType } from '../playback/hls.ts'
import { type Content, inMemory } from '../playback/send.ts'
import { cacheOneMinute, type Params, serveMedia } from '../playback/serve.ts'
import { findAsset } from '../playback/store.ts'
import { videoKind } from '../videos/paths.ts'
import { cueLoader, type LoadCues } from './cue-cache.ts'
import { type CaptionAsset, findCaptionAsset, findContent } from './store.ts'

const vttType = 'text/vtt; charset=utf-8'
const filePattern = /^([\w-]+)\.vtt$/
const segmentPattern = /^(0|[1-9]\d{0,5})\.vtt$/

/** Captions and chapters as files, and the captions in the playlists of HLS. */
export function trackPlaybackRoutes(app: App, context: Context): void {
  const { db } = context
  for (const kind of ['captions', 'chapters'] as const)
    serveMedia(app, context, {
      kind: videoKind,
      sentKind: 'captions',
      suffix: `/${kind}/:file`,
      async find({ videoId, file }) {
        const language = parseLanguage(filePattern.exec(file)?.[1])
        const asset = await findAsset(db, videoId)
        return asset && { ...asset, key: { videoId, kind, language } }
      },
      async load({ key }) {
        const content = await findContent(db, key)
        if (content === undefined) throw notFound('language')
        // Files of earlier versions were stored as they had been uploaded.
        return inMemory(Buffer.from(await withoutExternalContent(content)), vttType, cacheOneMinute)
      },
      render: (content: Content) => content,
    })
  const loadCues = cueLoader(context)
  serveMedia(app, context, {
    kind: videoKind,
    sentKind: 'captions',
    suffix: '/hls/captions/:rendition/:file',
    async find(params) {
      const file = parseFile(params)
      const asset = await findCaptionAsset(db, params.videoId, file.language)
      return asset && { ...asset, file }
    },
    load: (asset) => loadFile(loadCues, asset),
    render: (loaded, { query }) =>
      'plan' in loaded
        ? inMemory(Buffer.from(captionPlaylist(loaded.plan, query)), playlistType, cacheOneMinute)
        : loaded,
  })
}

/** By strict patterns: nothing else reaches the database. */
function parseLanguage(text: string | undefined): string {
  const language = text && readLanguage(text)
  if (!language) throw new ApiError(httpErrors.unknownUrl)
  return language
}

type HlsFile = { videoId: string; language: string; segment: number | undefined }

function parseFile({ videoId, rendition, file }: Params): HlsFile {
  const language = parseLanguage(rendition)
  if (file === 'manifest.m3u8') return { videoId, language, segment: undefined }
  const [, segment] = segmentPattern.exec(file) ?? []
  if (segment === undefined) throw new ApiError(httpErrors.unknownUrl)
  return { videoId, language, segment: Number(segment) }
}

/** The URLs in a playlist contain the session of the viewer. Undefined until the duration of the video is known. */
async function loadFile(
  loadCues: LoadCues,
  { plan, version, file }: CaptionAsset & { file: HlsFile },
): Promise<{ plan: EncodingPlan } | Content | undefined> {
  const { videoId, language, segment } = file
  if (version === null) throw notFound('language')
  if (!plan) return undefined
  if (segment === undefined) return { plan }
  const cues = await loadCues(videoId, language, version)
  if (!cues) throw notFound('language')
  const content = captionSegment(plan, cues, segment)
  if (content === undefined) throw notFound('file')
  return inMemory(Buffer.from(content), vttType, cacheOneMinute)
}
