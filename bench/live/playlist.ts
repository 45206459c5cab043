import { frameRate, groupMs } from './clip.ts'

/** A part of a playlist, and the frame of the encoder that completed it: the first one of the next part. */
export type ListedPart = { sequence: number; index: number; uri: string; endFrame: number }

/** The parts that a playlist lists, in their order. Each segment has the frames between two key frames. */
export function readParts(playlist: string): ListedPart[] {
  return readPlaylist(playlist).parts
}

/** The query with which a player waits for the part that follows. After the last part of a segment, it is that of the next. */
export function nextReload(playlist: string): string {
  const { sequence, index } = readPlaylist(playlist)
  return `?_HLS_msn=${sequence}&_HLS_part=${index}&_HLS_skip=YES`
}

function readPlaylist(playlist: string): { parts: ListedPart[]; sequence: number; index: number } {
  const parts: ListedPart[] = []
  let sequence = Number(/#EXT-X-MEDIA-SEQUENCE:(\d+)/.exec(playlist)?.[1])
  sequence += Number(/SKIPPED-SEGMENTS=(\d+)/.exec(playlist)?.[1] ?? 0)
  let index = 0
  let endMs = 0
  for (const line of playlist.split('\n')) {
    if (line.startsWith('#EXTINF:')) {
      sequence++
      index = 0
      endMs = 0
    }
    const [, seconds, uri] = /^#EXT-X-PART:DURATION=([\d.]+),URI="([^"]+)"/.exec(line) ?? []
    if (uri === undefined) continue
    endMs += Number(seconds) * 1000
    const endFrame = Math.round(((sequence * groupMs + endMs) * frameRate) / 1000)
    parts.push({ sequence, index: index++, uri, endFrame })
  }
  return { parts, sequence, index }
}

/** The part that a player has waited for: the first one after the last that it had. */
export const partAfter = (parts: ListedPart[], before: ListedPart): ListedPart | undefined =>
  parts.find(
    ({ sequence, index }) =>
      sequence > before.sequence || (sequence === before.sequence && index > before.index),
  )
