import type { Browser } from 'playwright-core'
import { ffmpeg } from '../../test/support/media/media.ts'

/** A landscape: colors of the sky, the far and near hills and the ground, and the height of the sun. */
type Scene = {
  sky: [string, string, string]
  hills: [string, string, string]
  sun: string
  sunAt: [number, number]
}

const scenes: Scene[] = [
  {
    sky: ['#1d2b5a', '#7a5a96', '#ffd9a0'],
    hills: ['#8b6c9c', '#5a4a7c', '#2b2f56'],
    sun: '#fff3d0',
    sunAt: [1240, 560],
  },
  {
    sky: ['#5aa6e8', '#a9d6f7', '#e9f6ff'],
    hills: ['#7fb48a', '#4d8f63', '#2c6145'],
    sun: '#ffffff',
    sunAt: [380, 260],
  },
  {
    sky: ['#0b1030', '#1b2a5e', '#3d5a94'],
    hills: ['#2c3b6b', '#1d2850', '#0f1633'],
    sun: '#e8efff',
    sunAt: [1500, 240],
  },
  {
    sky: ['#f2b880', '#f7d9a8', '#fff2d8'],
    hills: ['#d79a5d', '#b5713f', '#7a4626'],
    sun: '#fff8e6',
    sunAt: [960, 430],
  },
  {
    sky: ['#8fb3c7', '#c3d6de', '#eef3f4'],
    hills: ['#8c9fa8', '#64798a', '#3f5265'],
    sun: '#f8fbff',
    sunAt: [620, 330],
  },
  {
    sky: ['#3a1c5c', '#9b3f7f', '#f58a6c'],
    hills: ['#6d2f6b', '#47204f', '#241133'],
    sun: '#ffd27d',
    sunAt: [1000, 600],
  },
]

const [width, height] = [1920, 1080]

/** Hills between two heights. Different phases give different outlines. */
function hills(base: number, size: number, phase: number): string {
  const points = Array.from({ length: 49 }, (_, i) => {
    const x = (i * width) / 48
    const y = base + Math.sin(i * 0.9 + phase) * size + Math.sin(i * 0.37 + phase * 2.3) * size * 0.8
    return `${Math.round(x)} ${Math.round(y)}`
  })
  return `M0 ${height} L${points.join(' L')} L${width} ${height} Z`
}

function drawScene({ sky, hills: colors, sun, sunAt }: Scene, phase: number): string {
  const stops = sky.map((color, i) => `<stop offset="${i / 2}" stop-color="${color}"/>`).join('')
  const layers = colors.map(
    (color, i) => `<path d="${hills(620 + i * 130, 70 - i * 12, phase + i * 1.7)}" fill="${color}"/>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<defs><linearGradient id="s" x1="0" y1="0" x2="0" y2="1">${stops}</linearGradient></defs>
<rect width="${width}" height="${height}" fill="url(#s)"/>
<circle cx="${sunAt[0]}" cy="${sunAt[1]}" r="200" fill="${sun}" opacity="0.25"/>
<circle cx="${sunAt[0]}" cy="${sunAt[1]}" r="86" fill="${sun}"/>${layers.join('')}</svg>`
}

/** A slow zoom into a scene. */
export async function makeFilm(
  browser: Browser,
  { index, seconds, file }: { index: number; seconds: number; file: string },
): Promise<void> {
  const page = await browser.newPage({ viewport: { width, height } })
  await page.setContent(
    `<style>body{margin:0}svg{display:block}</style>${drawScene(scenes[index % scenes.length]!, index * 2.1)}`,
  )
  await page.screenshot({ path: `${file}.png` })
  await page.close()
  const rate = 25
  const frames = seconds * rate
  const zoom = `zoompan=z='1+0.35*on/${frames}':x='(iw-iw/zoom)/2':y='(ih-ih/zoom)/2':d=${frames}:s=854x480:fps=${rate}`
  await ffmpeg(
    ...['-i', `${file}.png`, '-f', 'lavfi', '-i', `sine=frequency=220:duration=${seconds}`],
    ...['-filter:v', zoom, '-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'],
    ...['-c:a', 'aac', '-t', String(seconds), '-y', file],
  )
}
