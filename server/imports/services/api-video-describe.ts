import type { Part } from '../kinds.ts'
import type { ImportOptions } from '../schemas.ts'
import { describeExported } from './exported-video.ts'
import { array, bool, number, object, string } from './json.ts'
import { included, type PublishedApi, videoPath } from './published-api.ts'
import type { KnownItem, Track, VideoDescription } from './service.ts'

const maxTracks = 100
const unknownWatermarkNote =
  'The service has watermarks, and does not tell which videos have one. It would be part of the picture.'

type Json = Record<string, unknown>
type Description = { api: PublishedApi; options: ImportOptions }

/** All that is known about a video but its file. */
export async function describeVideo(
  { api, options }: Description,
  { id, details }: KnownItem,
): Promise<VideoDescription> {
  const wants = (part: Part) => options.include.includes(part)
  const path = videoPath(id)
  const query = api.isKinora ? `?${included.map((part) => `include[]=${part}`).join('&')}` : ''
  const isEnough = api.isKinora && isAllListed(id, details, wants('thumbnails'))
  const video = isEnough ? details : object(await api.get(path + query))
  // Kinora tells which texts there are, which saves requests.
  const { captions, chapters, summary } = object(video.texts)
  const mayHave = (value: unknown) => value !== false && !(Array.isArray(value) && value.length === 0)
  const [captionTracks, chapterTracks, text, plays] = await Promise.all([
    wants('captions') && mayHave(captions) ? readTracks(api, `${path}/captions`) : [],
    wants('chapters') && mayHave(chapters) ? readTracks(api, `${path}/chapters`) : [],
    wants('summaries') && mayHave(summary) ? readSummary(api, id) : null,
    wants('views') ? (number(details.plays) ?? countPlays(api, id)) : null,
  ])
  return {
    ...describeExported(string(video.title), video),
    captions: captionTracks,
    chapters: chapterTracks,
    thumbnail:
      wants('thumbnails') && hasThumbnail(video) ? string(object(video.assets).thumbnail) || null : null,
    summary: text,
    notes: notesOf(api, video, details, plays),
    missing: object(video.status).state === 'missing' ? 'The video has no file.' : null,
  }
}

/** What Kinora has listed is all of a video, but the URLs of a private one can be used only once. */
const isAllListed = (id: string, details: Json, wantsThumbnail: boolean) =>
  details.videoId === id && (details.public === true || !wantsThumbnail || !hasThumbnail(details))

/** Kinora tells whether the thumbnail is only a placeholder. */
const hasThumbnail = ({ status }: Json) => status === undefined || object(status).thumbnailVersion !== null

async function readTracks(api: PublishedApi, path: string): Promise<Track[]> {
  const { data } = object(await api.get(`${path}?pageSize=${maxTracks}`))
  return array(data)
    .map(object)
    .map((track) => ({
      language: string(track.srclang) || string(track.language),
      isDefault: bool(track.default, false),
      url: string(track.src),
    }))
}

async function readSummary(api: PublishedApi, id: string): Promise<VideoDescription['summary']> {
  const { data } = object(await api.getIfAny(`/summaries?videoId=${encodeURIComponent(id)}`))
  const [summary] = array(data).map(object)
  if (summary?.sourceStatus !== 'completed') return null
  const found = await api.getIfAny(`/summaries/${encodeURIComponent(string(summary.summaryId))}/source`)
  if (found === undefined) return null
  const { abstract, takeaways } = object(found)
  return { abstract: string(abstract), takeaways: array(takeaways).map(string) }
}

/** Null without analytics. */
async function countPlays(api: PublishedApi, id: string): Promise<number | null> {
  const query = new URLSearchParams({ 'filterBy[mediaId]': id })
  const found = await api.getIfAny(`/data/metrics/play/total?${query}`)
  return found === undefined ? null : (number(object(found).data) ?? 0)
}

function notesOf(api: PublishedApi, video: Json, details: Json, plays: number | null): string[] {
  const notes: string[] = []
  const { type, liveStream } = object(video.source)
  if (type === 'liveStream')
    notes.push(`A recording of the live stream ${string(object(liveStream).liveStreamId)}.`)
  if (!api.isKinora && video.mp4Support === false) notes.push('mp4Support was switched on at the service.')
  if (details.mayHaveWatermark === true) notes.push(unknownWatermarkNote)
  if (plays !== null)
    notes.push(`${plays} plays at the service until ${new Date().toISOString().slice(0, 10)}.`)
  return notes
}
