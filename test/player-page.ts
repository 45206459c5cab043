import type { TestContext } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { patienceMs, waitFor } from './harness.ts'

export type Ping = {
  session: { session_id?: string; metadata: object[] }
  events: { type: string; at?: number }[]
}

type Seen = {
  page: Page
  /** What is true in the page, with `video` as a name for the video. */
  until(condition: string): Promise<void>
  ask<T>(expression: string): Promise<T>
  face(name: string): Promise<void>
  pings: Ping[]
  /** Addresses of media that were let through. */
  media: string[]
  /** Addresses of scripts and styles. */
  files: string[]
  errors: string[]
}

export type View = { width?: number; height?: number; context?: BrowserContext }

/** Opens the page of a video in a tab of its own. */
export async function openPlayer(
  t: TestContext,
  browser: Browser,
  url: string,
  view: View = {},
): Promise<Seen> {
  const { width = 640, height = 360, context } = view
  const page = await (context ?? browser).newPage(context ? {} : { viewport: { width, height } })
  t.after(() => page.close())
  const seen = { pings: [] as Ping[], media: [] as string[], files: [] as string[], errors: [] as string[] }
  page.on('pageerror', ({ message }) => seen.errors.push(message))
  page.on('console', (message) => {
    const isPolicy = message.text().includes('Content Security Policy')
    if (isPolicy) seen.errors.push(message.text())
  })
  page.on('request', (request) => {
    if (request.url().includes('/collector/')) seen.pings.push(JSON.parse(request.postData() ?? ''))
    if (['script', 'stylesheet'].includes(request.resourceType())) seen.files.push(request.url())
  })
  page.on('response', (response) => {
    if (/\.(m3u8|m4s|mp4|jpg)/.test(response.url()) && response.ok()) seen.media.push(response.url())
  })
  await page.goto(url)
  const withVideo = (expression: string) => `((video) => ${expression})(document.querySelector('video'))`
  return {
    page,
    // Not by waitForFunction, which evaluates in the page: its policy does not let it.
    async until(condition) {
      let now: unknown
      await waitFor(
        async () => {
          now = await page.evaluate(
            withVideo('[video?.currentTime, video?.readyState, document.body.innerText]'),
          )
          return (await page.evaluate(withVideo(condition))) === true
        },
        () => `${condition}: ${JSON.stringify(now)}`,
      )
    },
    ask: (expression) => page.evaluate(withVideo(expression)),
    async face(name) {
      await page.waitForSelector(`[data-status=${name}]`, { timeout: patienceMs })
    },
    ...seen,
  }
}

export const eventsIn = (pings: Ping[]) => pings.flatMap(({ events }) => events.map(({ type }) => type))

/** What has the focus, within custom elements too: `media-play-button.big`. */
export const focused = `(() => {
  const { localName, className } = document.activeElement
  return localName + (className ? '.' + className.split(' ')[0] : '')
})()`
