import { readLanguage } from '../../lib/languages.ts'

const media =
  /\.(3gp|avi|flv|m2ts|m4v|mkv|mov|mp4|mpe?g|mts|mxf|ogv|qt|ts|webm|wmv|aac|aiff?|flac|m4a|mp3|oga|ogg|opus|wav|wma)$/i

/** Whether the name is that of a video or audio file. */
export const isMediaFile = (name: string) => media.test(name)

/** Whether it may be captions or chapters. */
export const isTextFile = (name: string) => /\.(vtt|srt)$/i.test(name)

export type TrackName = { kind: 'captions' | 'chapters'; language: string }

/**
 * What a file beside a video is, by its name: `film.en.vtt` has captions of `film.mp4`, `film.en.chapters.vtt` chapters.
 * Undefined for other files.
 */
export function readTrackName(name: string, video: string): TrackName | undefined {
  const stem = video.replace(/\.[^./]*$/, '')
  if (!name.startsWith(`${stem}.`)) return undefined
  const [, tag = '', chapters] =
    /^\.([A-Za-z0-9-]+)(\.chapters)?\.(?:vtt|srt)$/i.exec(name.slice(stem.length)) ?? []
  const language = readLanguage(tag)
  return language === undefined ? undefined : { kind: chapters ? 'chapters' : 'captions', language }
}
