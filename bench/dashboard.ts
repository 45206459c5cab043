import pg from 'pg'
import type { Page } from 'playwright-core'
import { launchBrowser } from '../test/support/browser/browser.ts'
import { Resources, startKinora, withTemporaryFolder } from './servers.ts'
import { below, printTable, type Row } from './table.ts'
import { fillVideos } from './videos.ts'

const videos = 100_000
const password = 'correct horse'
const steps = 150

const recordLongTasks = `
  window.longTasks = []
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longTasks.push(duration)
  }).observe({ type: 'longtask' })
`

const nextFrame = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))'

/** Resolves when every visible cell shows a video. */
const loaded = `new Promise((resolve) => {
  const check = () =>
    document.querySelector('[role=gridcell][aria-busy=true]') ? requestAnimationFrame(check) : resolve()
  requestAnimationFrame(() => requestAnimationFrame(check))
})`

/** Scrolls in steps and measures the tasks of the page's main thread. */
async function measure(
  page: Page,
  measured: string,
  scroll: (step: number) => string,
  wait: string,
): Promise<Row[]> {
  const client = await page.context().newCDPSession(page)
  // CPU time, which other load on the machine does not change.
  await client.send('Performance.enable', { timeDomain: 'threadTicks' })
  const busySeconds = async () => {
    const { metrics } = await client.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === 'TaskDuration')!.value
  }
  await page.evaluate('longTasks.length = 0')
  const before = await busySeconds()
  for (let step = 1; step <= steps; step++) {
    await page.evaluate(scroll(step))
    await page.evaluate(wait)
  }
  const msPerStep = ((await busySeconds()) - before) * (1_000 / steps)
  const tasks = await page.evaluate<number[]>('longTasks')
  const longest = Math.round(Math.max(0, ...tasks))
  return [
    { measured: `${measured}: longest task`, kinora: `${longest} ms`, goal: below(200, longest, ' ms') },
    { measured: `${measured}: tasks above 50 ms in ${steps} steps`, kinora: String(tasks.length) },
    { measured: `${measured}: CPU time for each step`, kinora: `${msPerStep.toFixed(1)} ms` },
  ]
}

async function measureScrolling(url: string): Promise<void> {
  const browser = await launchBrowser()
  if (!browser) return
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
    await page.addInitScript({ content: recordLongTasks })
    await page.goto(`${url}/dashboard/login`)
    await page.getByLabel('Password').fill(password)
    await page.keyboard.press('Enter')
    await page.waitForURL(/dashboard\/production/)
    const rows: Row[] = []
    for (const layout of ['Grid', 'List']) {
      await page.goto(`${url}/dashboard/production/videos`)
      await page.getByRole('button', { name: layout, exact: true }).click()
      await page.getByRole('gridcell').first().waitFor()
      const jump = (step: number) => `scrollTo(0, document.documentElement.scrollHeight * ${step / steps})`
      rows.push(
        ...(await measure(page, `${layout}, scrolling quickly`, () => 'scrollBy(0, 700)', nextFrame)),
        ...(await measure(page, `${layout}, reading screen by screen`, () => 'scrollBy(0, 700)', loaded)),
        ...(await measure(page, `${layout}, jumping through all videos`, jump, loaded)),
      )
    }
    printTable(`The dashboard with ${videos} videos`, rows)
  } finally {
    await browser.close()
  }
}

export async function dashboard(): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const database = await resources.postgres(folder)
    const env = { KINORA_DATABASE_URL: database, KINORA_ADMIN_PASSWORD: password }
    const { url } = await resources.server(startKinora(folder, env))
    const client = new pg.Client(database)
    await client.connect()
    resources.add(() => client.end())
    await fillVideos(client, 0, videos)
    await measureScrolling(url)
  })
}
