// Takes the screenshots of the README and the docs, with a service that it fills with content: npm run screenshots
import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../test/support/browser/browser.ts'
import { globalSetup, globalTeardown } from '../test/support/global-setup.ts'
import { kinora } from '../test/support/harness.ts'
import { type Content, createContent } from './screenshots/content.ts'

const images = fileURLToPath(new URL('../docs/images/', import.meta.url))
const password = 'screenshots'
const dashboardSize = { width: 1280, height: 800 }

/** A palette keeps the files small. */
async function save(page: Page, name: string): Promise<void> {
  const target = `${images}${name}.png`
  await page.screenshot({ path: `${target}.full.png` })
  const palette = 'split[a][b];[a]palettegen=max_colors=200[p];[b][p]paletteuse=dither=sierra2_4a'
  execFileSync('ffmpeg', ['-v', 'error', '-y', '-i', `${target}.full.png`, '-vf', palette, target])
  await rm(`${target}.full.png`)
  console.log(`docs/images/${name}.png`)
}

async function takePlayer(browser: Browser, url: string, videoId: string): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 800, height: 450 }, bypassCSP: true })
  const shownAt = 8
  await page.goto(`${url}/vod/${videoId}?muted=true&autoplay=true#t=${shownAt}`)
  await page.waitForFunction(`document.querySelector('video')?.currentTime > ${shownAt}`)
  await page.evaluate(`document.querySelector('video').pause()`)
  // Over the seek bar, so that the controls and the preview are visible. The preview has to load its image.
  for (const x of [400, 250]) {
    await page.mouse.move(x, 402)
    await page.waitForTimeout(2_000)
  }
  await save(page, 'player')
  await page.close()
}

/** The views of the dashboard, by the name of their image. */
const views = ({ films, liveStreamId }: Content) => ({
  'dashboard-home': '',
  'dashboard-videos': '/videos',
  'dashboard-video': `/videos/${films[0]}`,
  'dashboard-viewers': '/viewers',
  'dashboard-live': `/live/${liveStreamId}`,
})

async function takeDashboard(browser: Browser, url: string, content: Content): Promise<void> {
  const context = await browser.newContext({ viewport: dashboardSize, colorScheme: 'light' })
  const page = await context.newPage()
  await page.goto(`${url}/dashboard/login`)
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/dashboard\/production/)
  for (const [name, path] of Object.entries(views(content))) {
    await page.goto(`${url}/dashboard/production${path}`)
    // Images, charts and the player in its frame.
    await page.waitForTimeout(4_000)
    await save(page, name)
  }
  await context.close()
}

const ends: (() => unknown)[] = []
try {
  await globalSetup()
  const service = await kinora(
    { after: (end: () => unknown) => ends.push(end) },
    { KINORA_ADMIN_PASSWORD: password },
  )
  const browser = (await launchBrowser(['--autoplay-policy=no-user-gesture-required']))!
  ends.unshift(() => browser.close())
  const content = await createContent(service, browser)
  await takePlayer(browser, service.url, content.films[0]!)
  await takeDashboard(browser, service.url, content)
} finally {
  for (const end of ends) await end()
  await globalTeardown()
}
