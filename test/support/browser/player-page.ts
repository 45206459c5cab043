import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { timeoutMs } from '../harness.ts'

export type Ping = {
  session: { session_id?: string; metadata: object[] }
  events: { type: string; at?: number; from?: number; to?: number }[]
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

const size = { width: 640, height: 360 }
const contexts = new WeakMap<Browser, Promise<BrowserContext>>()

/** Pages of one context share a process that has the player compiled already, as long as one of them is open. */
function sharedContext(browser: Browser): Promise<BrowserContext> {
  const create = async () => {
    const context = await browser.newContext({ viewport: size })
    await context.newPage()
    return context
  }
  const context = contexts.get(browser) ?? create()
  contexts.set(browser, context)
  return context
}

/**
 * A slow screen without turning spinners. The progress bar moves with each frame, which takes more CPU time than to decode
 * the video.
 */
const slowScreen = `window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 200)
  window.cancelAnimationFrame = clearTimeout
  const still = new CSSStyleSheet()
  still.replaceSync('*, ::before, ::after { animation-play-state: paused !important }')
  document.adoptedStyleSheets = [still]`

/** Opens the player page of a video in a new tab. */
export async function openPlayer(
  t: TestContext,
  browser: Browser,
  url: string,
  view: View = {},
): Promise<OpenedPlayer> {
  const { width, height, context } = { ...size, ...view }
  const page = await (context ?? (await sharedContext(browser))).newPage()
  t.after(async () => {
    // What a viewer has set must not reach the next test. The page may be one without storage.
    if (!context) await page.evaluate('localStorage.clear()').catch(() => {})
    await page.close()
  })
  if (!context && (width !== size.width || height !== size.height))
    await page.setViewportSize({ width, height })
  await page.addInitScript({ content: slowScreen })
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
    // Not with waitForFunction, which needs eval: the Content Security Policy of the page forbids it. The page checks
    // the condition itself, because each call from here takes CPU time in three processes.
    async until(condition) {
      const code = `(async () => {
        const start = performance.now()
        const isTrue = () => {
          // Before the video is in the page, the condition may throw.
          try { return ${withVideo(condition)} === true } catch { return false }
        }
        while (!isTrue()) {
          if (performance.now() - start > ${timeoutMs})
            return ${withVideo('[video?.currentTime, video?.readyState, document.body.innerText]')}
          await new Promise((next) => setTimeout(next, 50))
        }
      })()`
      for (;;) {
        try {
          const state = await page.evaluate(code)
          assert.equal(state, undefined, `${condition}: ${JSON.stringify(state)}`)
          return
        } catch (error) {
          // The page was reloaded meanwhile.
          if (!/Execution context was destroyed/.test(String(error))) throw error
        }
      }
    },
    evaluate: (expression) => page.evaluate(withVideo(expression)),
    async statusScreen(name) {
      await page.waitForSelector(`[data-status=${name}]`, { timeout: timeoutMs })
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
