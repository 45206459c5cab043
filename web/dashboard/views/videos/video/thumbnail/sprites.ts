import { queryOptions } from '@tanstack/react-query'
import type { Environment } from '../../../../api/client.ts'
import { ownPath } from '../../../../api/own-path.ts'
import { parseTime, parseWebVtt } from '../tracks/webvtt.ts'

/** A small frame, which is a part of a sheet. All lengths are in pixels. */
export type Tile = {
  startMs: number
  endMs: number
  sheet: string
  x: number
  y: number
  width: number
  height: number
  sheetWidth: number
  sheetHeight: number
}

/** The small frames of a video. Empty until it is encoded. `thumbnail` is the URL of its thumbnail. */
export const tilesQuery = (environment: Environment, videoId: string, thumbnail: string) =>
  queryOptions({
    queryKey: [environment, 'videos', videoId, 'tiles'],
    queryFn: async ({ signal }): Promise<Tile[]> => {
      // Beside the thumbnail. The token of a private video is valid for both, and neither uses it up.
      const list = new URL(ownPath(thumbnail).replace('thumbnail.jpg', 'sprites.vtt'), location.origin)
      const response = await fetch(list, { signal })
      return response.ok ? parseTiles(await response.text(), list) : []
    },
  })

function parseTiles(vtt: string, list: URL): Tile[] {
  const tiles = parseWebVtt(vtt).cues.flatMap(({ start, end, text }) => {
    const [, file, ...numbers] = /^(.*)#xywh=(\d+),(\d+),(\d+),(\d+)$/.exec(text) ?? []
    if (file === undefined) return []
    const [x = 0, y = 0, width = 0, height = 0] = numbers.map(Number)
    const { pathname, search } = new URL(file, list)
    const times = { startMs: parseTime(start) ?? 0, endMs: parseTime(end) ?? 0 }
    return [{ ...times, sheet: pathname + search, x, y, width, height }]
  })
  return tiles.map((tile) => {
    const others = tiles.filter(({ sheet }) => sheet === tile.sheet)
    return {
      ...tile,
      sheetWidth: Math.max(...others.map(({ x, width }) => x + width)),
      sheetHeight: Math.max(...others.map(({ y, height }) => y + height)),
    }
  })
}

export const tileAt = (tiles: Tile[], ms: number) =>
  tiles.find(({ startMs, endMs }) => startMs <= ms && ms < endMs) ?? tiles.at(-1)
