import type { LiveBroadcast } from '../state/live-broadcast.ts'

/** The master playlist. Its URLs are relative to `/live/{id}.m3u8`, with or without a token in front of the id. */
export function writeMaster(live: LiveBroadcast, query: string): string {
  const lines = live.qualities.flatMap((quality) => {
    const rendition = live.rendition(quality)
    const init = rendition?.latestInit
    if (!rendition || !init) return []
    const { average, peak } = rendition.bandwidth
    const attributes = [
      `BANDWIDTH=${Math.max(1, peak)}`,
      `AVERAGE-BANDWIDTH=${Math.max(1, average)}`,
      `CODECS="${init.codecs}"`,
      ...(init.width === null ? [] : [`RESOLUTION=${init.width}x${init.height}`]),
    ]
    return [
      `#EXT-X-STREAM-INF:${attributes.join(',')}`,
      `${live.liveStreamId}/${live.id}/${quality}/index.m3u8${query}`,
    ]
  })
  return ['#EXTM3U', '#EXT-X-VERSION:9', '#EXT-X-INDEPENDENT-SEGMENTS', ...lines, ''].join('\n')
}
