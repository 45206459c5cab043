import { ServiceError } from '../services/errors.ts'

// Reads the playlists of complete videos (RFC 8216), as far as services make them. Throws ServiceError for all others.

/** A film of ten hours with segments of one second has 36,000. */
const maxSegments = 100_000

export type MasterPlaylist = { video: string; audio: string | undefined }

/** The URLs of the rendition with the most pixels, and of its audio if that is apart. */
export function readMaster(text: string, base: string): MasterPlaylist {
  const lines = linesOf(text)
  const variants = lines.flatMap((line, n) => {
    const attributes = attributesOf(line, '#EXT-X-STREAM-INF:')
    const uri = lines[n + 1]
    if (!attributes || uri === undefined || uri.startsWith('#')) return []
    const [width = 0, height = 0] = (attributes.get('RESOLUTION') ?? '').split('x').map(Number)
    const bandwidth = Number(attributes.get('BANDWIDTH')) || 0
    return [{ uri, pixels: width * height || 0, bandwidth, group: attributes.get('AUDIO') }]
  })
  const [best] = variants.toSorted((a, b) => b.pixels - a.pixels || b.bandwidth - a.bandwidth)
  if (!best) throw new ServiceError('The HLS playlist lists no qualities.')
  const tracks = lines
    .map((line) => attributesOf(line, '#EXT-X-MEDIA:'))
    .filter((each) => each?.get('TYPE') === 'AUDIO' && each.get('GROUP-ID') === best.group)
  const track = tracks.find((each) => each?.get('DEFAULT') === 'YES') ?? tracks[0]
  // Without a URI, the audio is part of the video.
  const audio = track?.get('URI')
  return {
    video: resolve(best.uri, base),
    audio: audio === undefined || best.group === undefined ? undefined : resolve(audio, base),
  }
}

/** The URLs of the files that make up a rendition, in their order. */
export function readMedia(text: string, base: string): string[] {
  const lines = linesOf(text)
  const has = (tag: string) => lines.some((line) => line.startsWith(tag))
  if (!has('#EXT-X-ENDLIST')) throw new ServiceError('The HLS playlist has no end.')
  if (lines.some((line) => line.startsWith('#EXT-X-KEY:') && !/METHOD=NONE/.test(line)))
    throw new ServiceError('The HLS version is encrypted.')
  if (has('#EXT-X-DISCONTINUITY') || has('#EXT-X-BYTERANGE:'))
    throw new ServiceError('The HLS version has parts that cannot be joined.')
  const maps = lines.flatMap((line) => attributesOf(line, '#EXT-X-MAP:') ?? [])
  if (maps.length > 1 || maps.some((map) => map.has('BYTERANGE')))
    throw new ServiceError('The HLS version has parts that cannot be joined.')
  const segments = lines.filter((line) => !line.startsWith('#'))
  if (segments.length === 0 || segments.length > maxSegments)
    throw new ServiceError('The HLS version has no segments, or too many.')
  const init = maps.map((map) => map.get('URI') ?? '')
  return [...init, ...segments].map((uri) => resolve(uri, base))
}

function linesOf(text: string): string[] {
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
  if (lines[0] !== '#EXTM3U') throw new ServiceError('The HLS playlist is not a playlist.')
  return lines
}

/** Undefined for other lines. */
function attributesOf(line: string, tag: string): Map<string, string> | undefined {
  if (!line.startsWith(tag)) return undefined
  // A name begins after a comma only: otherwise, a long line of letters would be read from each of them on.
  const pairs = line.slice(tag.length).matchAll(/(?:^|,)\s*([A-Z0-9-]+)=(?:"([^"]*)"|([^",]*))/g)
  return new Map([...pairs].map(([, name = '', quoted, plain = '']) => [name, quoted ?? plain]))
}

function resolve(uri: string, base: string): string {
  const url = URL.parse(uri, base)
  if (!url) throw new ServiceError('The HLS playlist has an unusable URL.')
  return url.href
}
