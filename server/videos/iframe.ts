import { escapeHtml } from '../lib/html.ts'
import type { Size } from '../media/images.ts'
import type { VideoRow } from './tables.ts'

/** Of a player whose content has no size yet, as that of a live stream. */
export const defaultSize: Size = { width: 1280, height: 720 }

/** The size of the best quality. A 360° video fills a frame of any shape. Other sizes are unknown at first. */
export function playerSize(video: Pick<VideoRow, 'panoramic' | 'width' | 'height'>): Size {
  const { panoramic, width, height } = video
  return panoramic || width === null || height === null ? defaultSize : { width, height }
}

type Iframe = {
  src: string
  /** Of the video. Screen readers announce it. */
  title: string
  size: Size
  /** Without it, the iframe is as wide as the page allows and has the aspect ratio of the size. */
  isFixed?: boolean
}

/** The player as HTML for other pages. */
export function iframeOf({ src, title, size: { width, height }, isFixed = false }: Iframe): string {
  const shape = isFixed
    ? `width="${width}" height="${height}" style="border: 0"`
    : `width="100%" style="aspect-ratio: ${aspectRatio(width, height)}; border: 0"`
  const allow = 'autoplay; fullscreen; picture-in-picture; accelerometer; gyroscope'
  return `<iframe src="${escapeHtml(src)}" title="${escapeHtml(title || 'Video')}" ${shape} allow="${allow}"></iframe>`
}

function aspectRatio(width: number, height: number): string {
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))
  const shared = divisor(width, height)
  return `${width / shared} / ${height / shared}`
}
