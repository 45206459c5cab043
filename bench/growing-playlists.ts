/** The part of a rendition that its playlist lists. */
type Listed = { seconds: number; isComplete: boolean }

export type Available = {
  /** Seconds that both the audio and the longest quality have. */
  any: Listed
  /** The same for the audio and each quality, from the master playlist. */
  qualities: Map<string, Listed>
}

const nothing: Listed = { seconds: 0, isComplete: false }

const shorter = (a: Listed, b: Listed): Listed => ({
  seconds: Math.min(a.seconds, b.seconds),
  isComplete: a.isComplete && b.isComplete,
})

async function readMedia(url: string): Promise<Listed> {
  const response = await fetch(url)
  const playlist = await response.text()
  if (response.status !== 200) return nothing
  const durations = [...playlist.matchAll(/#EXTINF:([\d.]+)/g)].map(([, duration]) => Number(duration))
  return {
    seconds: durations.reduce((sum, duration) => sum + duration, 0),
    isComplete: playlist.includes('#EXT-X-ENDLIST'),
  }
}

/** Reads the master playlist and all playlists in it, as a player does that knows nothing else about the video. */
export async function readPlaylists(url: string, videoId: string): Promise<Available> {
  const base = `${url}/vod/${videoId}/hls/`
  const response = await fetch(`${base}manifest.m3u8`)
  const master = await response.text()
  // Without a body until the video is playable.
  if (response.status === 202) return { any: nothing, qualities: new Map() }
  if (response.status !== 200) throw new Error(`the response to the manifest was ${response.status}`)
  const audioUri = /TYPE=AUDIO.*URI="([^"]+)"/.exec(master)?.[1]
  const videoUris = master.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const [audio, ...videos] = await Promise.all(
    [audioUri, ...videoUris].map((uri) => (uri === undefined ? undefined : readMedia(base + uri))),
  )
  const playable = videos.map((video) => (audio ? shorter(audio, video!) : video!))
  const any = playable.toSorted((a, b) => b.seconds - a.seconds)[0] ?? nothing
  return { any, qualities: new Map(videoUris.map((uri, i) => [uri.split('/')[0]!, playable[i]!])) }
}
