import type { VideoDescription } from './service.ts'

/** The description of a file about which nothing else is known. */
export const describeFile = (title: string): VideoDescription => ({
  title,
  description: '',
  tags: [],
  metadata: [],
  public: true,
  panoramic: false,
  mp4Support: true,
  playableDuringUpload: null,
  language: null,
  createdAt: null,
  playerId: null,
  captions: [],
  chapters: [],
  thumbnail: null,
  summary: null,
  notes: [],
  missing: null,
})
