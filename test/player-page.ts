import type { TestContext } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { patienceMs, waitFor } from './harness.ts'

export type Ping = {
  session: { session_id?: string; metadata: object[] }
  events: { type: string; at?: number }[]
}

type OpenedPlayer = {
  page: Page
  /** Waits until an expression is true in the page. `video` is the video element. */
  until(condition: string): Promise<void>
  /** Evaluates an expression in the page. `video` is the video element. */
  evaluate<T>(expression: string): Promise<T>
  /** Waits for a status screen. */
  statusScreen(name: string): Promise<void>
  pings: Ping[]
  /** URLs of successful media responses. */
  media: string[]
  /** URLs of scripts and style sheets. */
  files: string[]
  errors: string[]
}

export type View = { width?: number; height?: number; context?: BrowserContext }

/** Opens the player page of a video in a new tab. */
export async function openPlayer(
  t: TestContext,
  browser: Browser,
  url: string,
  view: View = {},
): Promise<OpenedPlayer> {
  const { width = 640, height = 360, context } = view
  const page = await (context ?? browser).newPage(context ? {} : { viewport: { width, height } })
  t.after(() => page.close())
  const recorded = {
    pings: [] as Ping[],
    media: [] as string[],
    files: [] as string[],
    errors: [] as string[],
  }
  page.on('pageerror', ({ message }) => recorded.errors.push(message))
  page.on('console', (message) => {
    const isPolicy = message.text().includes('Content Security Policy')
    if (isPolicy) recorded.errors.push(message.text())
  })
  page.on('request', (request) => {
    if (request.url().includes('/collector/')) recorded.pings.push(JSON.parse(request.postData() ?? ''))
    if (['script', 'stylesheet'].includes(request.resourceType())) recorded.files.push(request.url())
  })
  page.on('response', (response) => {
    if (/\.(m3u8|m4s|mp4|jpg)/.test(response.url()) && response.ok()) recorded.media.push(response.url())
  })
  await page.goto(url)
  const withVideo = (expression: string) => `((video) => ${expression})(document.querySelector('video'))`
  return {
    page,
    // Not with waitForFunction, which needs eval: the Content Security Policy of the page forbids it.
    async until(condition) {
      let state: unknown
      await waitFor(
        async () => {
          state = await page.evaluate(
            withVideo('[video?.currentTime, video?.readyState, document.body.innerText]'),
          )
          return (await page.evaluate(withVideo(condition))) === true
        },
        () => `${condition}: ${JSON.stringify(state)}`,
      )
    },
    evaluate: (expression) => page.evaluate(withVideo(expression)),
    async statusScreen(name) {
      await page.waitForSelector(`[data-status=${name}]`, { timeout: patienceMs })
    },
    ...recorded,
  }
}

export const eventsIn = (pings: Ping[]) => pings.flatMap(({ events }) => events.map(({ type }) => type))

/** An expression for the focused element: `media-play-button.big`. */
export const focused = `(() => {
  const { localName, className } = document.activeElement
  return localName + (className ? '.' + className.split(' ')[0] : '')
})()`
