// Takes the screenshot in the README: node scripts/screenshot.ts URL_OF_A_PLAYER_PAGE
// The video is a slow zoom into docs/images/scene.svg, titled "A quiet evening".
import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { launchBrowser } from '../test/browser.ts'

const [url = ''] = process.argv.slice(2)
const target = fileURLToPath(new URL('../docs/images/player.png', import.meta.url))
const shownAt = 24

const browser = (await launchBrowser(['--autoplay-policy=no-user-gesture-required']))!
const page = await browser.newPage({ viewport: { width: 800, height: 450 }, bypassCSP: true })
await page.goto(`${url}?muted=true&autoplay=true#t=${shownAt}`)
await page.waitForFunction(`document.querySelector('video')?.currentTime > ${shownAt}`)
await page.evaluate(`document.querySelector('video').pause()`)
// Over the seek bar, so that the controls and the preview are visible.
await page.mouse.move(400, 402)
// The preview has its own image, which has to be loaded.
await page.waitForTimeout(2_000)
await page.mouse.move(250, 402)
await page.waitForTimeout(2_000)
await page.screenshot({ path: `${target}.full.png` })
await browser.close()

// A palette keeps the file small.
const palette = 'split[a][b];[a]palettegen=max_colors=200[p];[b][p]paletteuse=dither=sierra2_4a'
execFileSync('ffmpeg', ['-v', 'error', '-y', '-i', `${target}.full.png`, '-vf', palette, target])
await rm(`${target}.full.png`)
