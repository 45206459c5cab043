import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, skip } from '../support/browser/browser.ts'
import { readBlocks } from '../support/docs/markdown.ts'
import {
  call,
  kinora,
  productionKey,
  root,
  type Service,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { makeClip } from '../support/media/media.ts'
import { waitForEncoding } from '../support/videos.ts'

// Follows README.md: runs its commands and snippets as they are, except for the key and the ports.

let service: Service
let readme: string
let folder: string
let browser: Browser | undefined
/** What the commands of the first section print, and the video that they create. */
let first: { stdout: string; videoId: string }
const ends: (() => unknown)[] = []

before(async () => {
  service = await kinora({ after: (end) => ends.push(end) }, { KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })
  readme = await readFile(join(root, 'README.md'), 'utf8')
  folder = await temporaryFolder({ after })
  await makeClip(join(folder, 'film.mp4'), { size: '160x120', rate: '5', seconds: 1 })
  const { stdout, variables } = await run(blocksOf('Your first video in a minute', 'sh'))
  first = { stdout, videoId: variables.VIDEO_ID! }
  await waitForEncoding(service, first.videoId)
  browser = await launchBrowser()
})
after(async () => {
  await browser?.close()
  for (const end of ends) await end()
})

/** The code blocks of a section in this language. */
function blocksOf(title: string, language: string): string[] {
  const blocks = readBlocks('README.md', readme).filter(({ section }) => section === title)
  assert.ok(blocks.length > 0, `README.md has no code in a section "${title}"`)
  return blocks.filter((block) => block.language === language).map(({ text }) => text)
}

let port = 0

/** The only changes to the text of the README. */
const adapt = (text: string) =>
  text
    .replaceAll('http://localhost:8080', service.url)
    .replaceAll(/(localhost:|listen\()3000/g, `$1${port}`)
    .replace('KINORA_KEY=…', `KINORA_KEY=${productionKey}`)

/** Runs commands in one shell and returns what they print, and the variables that they set. */
async function run(blocks: string[], env: Record<string, string> = {}) {
  const names = ['VIDEO_ID', 'SIGNATURE_SECRET']
  // curl does not end its output with a line break.
  const print = names.map((name) => `printf '\\n@${name}=%s' "\${${name}-}"`)
  const options = { cwd: folder, env: { PATH: process.env.PATH, KINORA_KEY: productionKey, ...env } }
  const script = [...blocks.map(adapt), ...print].join('\n')
  const { stdout } = await promisify(execFile)('sh', ['-euc', script], options)
  const variables = [...stdout.matchAll(/^@(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value])
  return {
    stdout: stdout.slice(0, stdout.indexOf('\n@VIDEO_ID=')),
    variables: Object.fromEntries(variables) as Record<string, string>,
  }
}

async function findPort(): Promise<void> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
  await new Promise((done) => server.close(done))
}

/** Saves the script of a section and starts it as the section says. */
async function startScript(t: TestContext, title: string, name: string, env: Record<string, string>) {
  await writeFile(join(folder, name), adapt(blocksOf(title, 'js')[0]!))
  const command = blocksOf(title, 'sh').at(-1)!
  assert.ok(command.includes(`node ${name}`), command)
  const child = spawn('sh', ['-c', `exec env ${command}`], {
    cwd: folder,
    env: { PATH: process.env.PATH, KINORA_KEY: productionKey, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  let printed = ''
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  await waitFor(() =>
    fetch(`http://localhost:${port}/ready`).then(
      () => true,
      () => false,
    ),
  )
  return () => printed
}

async function openFile(name: string): Promise<Page> {
  const page = await browser!.newPage()
  await page.goto(pathToFileURL(join(folder, name)).href)
  return page
}

test('the first video is created, uploaded, found and playable', async () => {
  const { stdout, videoId } = first
  assert.match(stdout, new RegExp(`^${videoId}\n`))
  assert.match(stdout, /"itemsTotal":1\b/)
  const rows = readme.match(/^\| `http:\/\/localhost:8080\/vod.*$/gm)!.map((row) => row.split('`')[1]!)
  for (const row of rows) {
    const { status } = await call(adapt(row).replace('$VIDEO_ID', videoId), { key: '' })
    assert.equal(status, 200, row)
  }
})

test('a browser uploads with the token', { skip }, async () => {
  const title = 'Upload from a browser'
  await writeFile(join(folder, 'upload.html'), adapt(blocksOf(title, 'html')[0]!))
  await run(blocksOf(title, 'sh'))
  const page = await openFile('upload.html')
  await page.setInputFiles('input', join(folder, 'film.mp4'))
  const src = await page.locator('#result iframe').getAttribute('src')
  assert.equal(await page.locator('progress').getAttribute('value'), '1')
  const { body } = await call(`${service.url}/videos?title=film`)
  assert.deepEqual(
    body.data.map((video: { assets: { player: string } }) => video.assets.player),
    [src],
  )
  await page.close()
})

test('sessions of a viewer are listed', { skip }, async () => {
  const title = 'Who watched what'
  const { videoId } = first
  const [declare = '', embed = '', list = ''] = blocksOf(title, 'sh')
  await run([declare, embed], { VIDEO_ID: videoId })
  const page = await openFile('viewer.html')
  const { width, height } = (await page.locator('iframe').boundingBox())!
  assert.ok(Math.abs(height - (width * 9) / 16) < 1, `${width} x ${height}`)
  const results = async () =>
    (await run([list], { VIDEO_ID: videoId })).stdout
      .split(/(?<=\})(?=\{"data")/)
      .map((text) => JSON.parse(text).data)
  await waitFor(async () => (await results())[0].length === 1)
  const [[session], [viewer]] = await results()
  assert.deepEqual(session.session.metadata, [{ key: 'viewer', value: 'user-17' }])
  assert.equal(viewer.value, 'user-17')
  await page.close()
})

test('a webhook is received and its signature is checked', async (t) => {
  const title = 'Be notified by webhook'
  await findPort()
  const { variables } = await run(blocksOf(title, 'sh').slice(0, 1))
  const secret = variables.SIGNATURE_SECRET!
  assert.match(secret, /^sig_sec_\w+$/)
  const printed = await startScript(t, title, 'hook.mjs', { SIGNATURE_SECRET: secret })
  const forged = await fetch(`http://localhost:${port}/hook`, { method: 'POST', body: '{"type":"forged"}' })
  assert.equal(forged.status, 401)
  const [webhook] = (await call(`${service.url}/webhooks`)).body.data
  const json = { event: 'video.encoding.quality.completed' }
  await call(`${service.url}/webhooks/${webhook.webhookId}/test`, { method: 'POST', json })
  await waitFor(() => printed().includes("type: 'video.encoding.quality.completed'"), printed)
  assert.ok(!printed().includes('forged'))
})

test('a private video has a page for each visitor of the site, and no public one', async (t) => {
  const title = 'A private video on my site'
  await findPort()
  const { videoId } = first
  const api = `${service.url}/videos/${videoId}`
  t.after(() => call(api, { method: 'PATCH', json: { public: true } }))
  await run(blocksOf(title, 'sh').slice(0, 1), { VIDEO_ID: videoId })
  await startScript(t, title, 'members.mjs', { VIDEO_ID: videoId })
  const open = async () => {
    const { text } = await call(`http://localhost:${port}`, { key: '' })
    return /<iframe src="([^"]+)"/.exec(text)![1]!
  }
  const [one, other] = [await open(), await open()]
  assert.notEqual(one, other)
  const player = `${service.url}/vod/${videoId}`
  assert.ok(one.startsWith(`${player}?token=`), one)
  assert.equal((await call(one, { key: '' })).status, 200)
  assert.equal((await call(`${player}/hls/manifest.m3u8`, { key: '' })).status, 403)
})
