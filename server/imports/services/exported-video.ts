import { describeFile } from './file-description.ts'
import { array, bool, object, string, time } from './json.ts'
import type { VideoDescription } from './service.ts'

/** A video object of the API, as exports contain it. Attributes that are absent have their default. */
export function describeExported(title: string, video: Record<string, unknown>): VideoDescription {
  const usual = describeFile(title)
  return {
    ...usual,
    title: string(video.title) || title,
    description: string(video.description),
    tags: array(video.tags).map(string),
    metadata: array(video.metadata)
      .map(object)
      .map(({ key, value }) => ({ key: string(key), value: string(value) })),
    public: bool(video.public, true),
    panoramic: bool(video.panoramic, false),
    mp4Support: bool(video.mp4Support, true),
    playableDuringUpload: typeof video.playableDuringUpload === 'boolean' ? video.playableDuringUpload : null,
    // A detected language is detected again.
    language: video.languageOrigin === 'auto' ? null : string(video.language) || null,
    createdAt: time(video.createdAt),
    playerId: string(video.playerId) || null,
  }
}
