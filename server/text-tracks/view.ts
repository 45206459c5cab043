import { issueToken } from '../access/private-token.ts'
import type { Context } from '../context.ts'
import { nativeName } from '../lib/languages.ts'
import { videoPath } from '../videos/paths.ts'
import type { Caption, Chapter } from './schemas.ts'
import type { StoredTrack } from './store.ts'

type Deps = Pick<Context, 'publicUrl' | 'secret' | 'now'>
type Video = { id: string; public: boolean }

const apiPath = ({ id }: Video, { kind, language }: StoredTrack) => `/videos/${id}/${kind}/${language}`

/** Each URL of a private video has its own token, as a token is for one viewer and browsers load tracks without cookies. */
function sourceUrl({ publicUrl, secret, now }: Deps, video: Video, { kind, language }: StoredTrack): string {
  const token = video.public ? '' : `/token/${issueToken(secret, video.id, now())}`
  return `${publicUrl()}${videoPath(video.id)}${token}/${kind}/${language}.vtt`
}

export const viewCaption = (deps: Deps, video: Video, track: StoredTrack): Caption => ({
  uri: apiPath(video, track),
  src: sourceUrl(deps, video, track),
  srclang: track.language,
  languageName: nativeName(track.language),
  default: track.is_default,
})

export const viewChapter = (deps: Deps, video: Video, track: StoredTrack): Chapter => ({
  uri: apiPath(video, track),
  src: sourceUrl(deps, video, track),
  language: track.language,
})
