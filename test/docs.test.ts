import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { build } from 'vite'
import { freePort } from '../bench/nginx.ts'
import { commands } from '../server/cli/commands.ts'
import { parse } from '../server/cli/parse.ts'
import { launchBrowser, servePages } from './browser.ts'
import { compareShapes, pairTexts } from './docs-shape.ts'
import {
  call,
  kinora,
  kinoraCommand,
  productionKey,
  root,
  type Service,
  temporaryFolder,
  waitFor,
} from './harness.ts'
import { type Block, readBlocks } from './markdown.ts'
import { ffmpeg, makeClip, uploadVideo, waitForEncoding } from './media.ts'

// Follows docs/*.md: runs their commands and snippets as they are, except for keys, ids, hosts and ports, in one service.
// Readers continue from the README, so they have an API key, a video that plays, and files of their own.

const pages = new Map<string, Block[]>()
for (const file of (await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md')).sort())
  pages.set(file, readBlocks(`docs/${file}`, await readFile(join(root, 'docs', file), 'utf8')))

const exampleVideo = 'vi4blUQJFrYWbaG44NChkH27'
/** What a comment above a block says. The other notes explain why a block cannot be run. */
const notes = {
  inPage: 'in a page',
  body: 'body of: ',
  answer: 'answer to: ',
  event: 'event: ',
  skipped: 'not run: ',
}

let service: Service
let folder: string
let videoId: string
let port: number
let browser: Browser | undefined
const ends: (() => unknown)[] = []

before(async () => {
  service = await kinora(
    { after: (end) => ends.push(end) },
    { KINORA_ALLOW_PRIVATE_NETWORKS: 'true', KINORA_TRANSCRIPTION_URL: 'http://127.0.0.1:8000/inference' },
  )
  folder = await temporaryFolder({ after })
  port = await freePort()
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const film = join(folder, 'film.mp4')
  await makeClip(film, { size: '160x120', rate: '5', seconds: 1 })
  await ffmpeg('-f', 'lavfi', '-i', 'color=size=100x50', '-frames:v', '1', join(folder, 'logo.png'))
  await writeFile(join(folder, 'film.srt'), '1\n00:00:00,000 --> 00:00:01,000\nHello\n')
  videoId = await uploadVideo(service, film)
  await waitForEncoding(service, videoId)
  browser = await launchBrowser()
})
after(async () => {
  await browser?.close()
  for (const end of ends) await end()
})

/** What a reader has after the blocks so far. */
class Reader {
  /** Variables of the shell. */
  env: Record<string, string> = {
    ...{ PATH: process.env.PATH ?? '', HOME: folder, KINORA_KEY: productionKey, VIDEO_ID: videoId },
    ...{ KINORA_URL: service.url, KINORA_DATA_DIR: service.data, KINORA_DATABASE_URL: service.database },
  }
  /** Texts of examples, and what the service returned instead. */
  readonly replaced = new Map([[exampleVideo, videoId]])
  readonly scripts = new Map<string, string>()
  readonly ends: (() => unknown)[] = []

  /** The only changes to the text of the docs. */
  adapt(text: string): string {
    const own = [...this.replaced].reduce(
      (changed, [example, real]) => changed.replaceAll(example, real),
      text,
    )
    return own
      .replaceAll(/http:\/\/localhost:8080|https:\/\/video\.example\.com/g, service.url)
      .replaceAll(/(localhost:|listen\()3000/g, `$1${port}`)
      .replace('KINORA_KEY=…', `KINORA_KEY=${productionKey}`)
  }

  async close(): Promise<void> {
    for (const end of this.ends) await end()
    // The next page begins with a public video again.
    await call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json: { public: true } })
  }
}

/** Commands that fail on errors of the service. A package that is to be installed has to be one of ours. */
const prelude = `
curl() { command curl -sS --fail-with-body "$@" && echo; }
kinora() { "${process.execPath}" "${resolve(root, kinoraCommand())}" "$@"; }
npm() { [ "$1" = install ] && [ -d "node_modules/$2" ]; }
set -a
`

async function runCommands(reader: Reader, { text, place }: Block): Promise<string> {
  const state = join(folder, 'variables')
  const script = `${prelude}\n${reader.adapt(text)}\nenv -0 > '${state}'`
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    ...{ cwd: folder, env: reader.env },
    // From a socket, bash would read its start-up file.
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group, which is stopped with the programs that it has started.
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const server = [...reader.scripts].find(
    ([name, script]) => text.includes(`node ${name}`) && script.includes('.listen('),
  )
  if (server) {
    reader.ends.push(() => process.kill(-child.pid!, 'SIGKILL'))
    await waitFor(
      async () => (await isReachable()) || child.exitCode !== null,
      () => output,
    )
    assert.equal(child.exitCode, null, `${place}: ${output}`)
    return ''
  }
  await once(child, 'close')
  assert.equal(child.exitCode, 0, `${place}: ${output}`)
  const variables = (await readFile(state, 'utf8'))
    .split('\0')
    .filter((pair) => !pair.startsWith('BASH_FUNC_'))
  reader.env = Object.fromEntries(
    variables.filter(Boolean).map((pair) => [pair.split('=', 1)[0], pair.slice(pair.indexOf('=') + 1)]),
  )
  return output
}

const isReachable = () =>
  fetch(`http://localhost:${port}`).then(
    () => true,
    () => false,
  )

const parseLast = (output: string) => JSON.parse(output.trim().split('\n').at(-1) ?? '')

/** An example is complete: it has the fields that the service sends, with values of the same types. */
function checkExample(reader: Reader, { text, place }: Block, real: unknown): void {
  const example = JSON.parse(text)
  assert.deepEqual(compareShapes(example, real), [], place)
  for (const [shown, own] of pairTexts(example, real))
    if (/^\w{20,}$/.test(shown)) reader.replaced.set(shown, own)
}

async function checkJson(
  reader: Reader,
  block: Block,
  commands: Block | undefined,
  output: string,
): Promise<void> {
  const { note, text, place } = block
  if (note.startsWith(notes.answer) || note.startsWith(notes.body)) {
    const [method = '', path = '', json] = note.slice(note.indexOf(':') + 2).split(/ (?![^{]*\})/)
    const sent = JSON.parse(json ?? text)
    const { status, body } = await call(service.url + path, { method, json: sent })
    if (json !== undefined) checkExample(reader, block, body)
    else assert.ok(status < 300, `${place}: ${JSON.stringify(body)}`)
  } else if (note.startsWith(notes.event)) {
    const { body } = await call(`${service.url}/events?type=${note.slice(notes.event.length)}&pageSize=1`)
    checkExample(reader, block, body.data[0].payload)
  } else if (commands && isRead(commands)) {
    // What a player reports arrives later.
    let latest = output
    await waitFor(async () => {
      const isEmpty = parseLast(latest).data?.length === 0
      if (isEmpty) latest = await runCommands(reader, commands)
      return !isEmpty
    })
    checkExample(reader, block, parseLast(latest))
  } else if (commands) checkExample(reader, block, parseLast(output))
  else for (const line of text.trim().startsWith('{\n') ? [text] : text.trim().split('\n')) JSON.parse(line)
}

const isRead = ({ text }: Block) => !/ -(d|X|F) /.test(text)

async function openHtml(reader: Reader, { text, place }: Block): Promise<void> {
  if (!browser) return
  const site = await servePages((_, response) =>
    response.setHeader('content-type', 'text/html').end(`<!doctype html>${reader.adapt(text)}`),
  )
  const page = await browser.newPage()
  reader.ends.push(() => page.close(), site.close)
  const loaded = page.waitForResponse((response) => response.url().startsWith(`${service.url}/vod/`))
  await page.goto(site.url)
  assert.equal((await loaded).status(), 200, place)
}

/** Bundles a script with its packages. */
async function bundle(reader: Reader, text: string): Promise<string> {
  const entry = join(folder, 'in-page.js')
  await writeFile(entry, reader.adapt(text))
  const built = await build({
    ...{ configFile: false, root: folder, logLevel: 'silent' },
    build: { write: false, minify: false, lib: { entry, formats: ['es'], fileName: 'script' } },
  })
  const files = [built].flat().flatMap((each) => ('output' in each ? each.output : []))
  return files.flatMap((each) => (each.type === 'chunk' ? [each.code] : [])).join('\n')
}

const pageForScripts =
  '<!doctype html><input type="file"><div id="target"></div><script type="module" src="script.js"></script>'

/** Runs a script in a page that has an input and a target. The script logs when it is done. */
async function runInPage(reader: Reader, { text, place }: Block): Promise<void> {
  if (!browser) return
  const script = await bundle(reader, text)
  const site = await servePages(({ url }, response) =>
    url === '/'
      ? response.setHeader('content-type', 'text/html').end(pageForScripts)
      : response.setHeader('content-type', 'text/javascript').end(script),
  )
  const page = await browser.newPage()
  reader.ends.push(() => page.close(), site.close)
  const messages: string[] = []
  page.on('pageerror', ({ message }) => messages.push(`error: ${message}`))
  page.on('console', (message) => messages.push(`${message.type()}: ${message.text()}`))
  await page.goto(site.url)
  if (text.includes("'input'")) await page.setInputFiles('input', join(folder, 'film.mp4'))
  await waitFor(() => messages.length > 0)
  assert.match(messages[0]!, /^log: /, place)
}

/** A script that a later block starts gets the name that it has there. Others are run at once. */
async function runScript(reader: Reader, block: Block, later: Block[]): Promise<void> {
  const [, name] = later.map(({ text }) => /\bnode (\S+\.mjs)/.exec(text)).find(Boolean) ?? []
  const file = name ?? 'snippet.mjs'
  await writeFile(join(folder, file), reader.adapt(block.text))
  reader.scripts.set(file, block.text)
  if (!name) await runCommands(reader, { ...block, text: `node ${file}` })
}

/** Without the library of the example, its syntax is checked. */
async function runPython(reader: Reader, block: Block): Promise<void> {
  if (spawnSync('python3', ['--version']).error) return
  const file = join(folder, 'snippet.py')
  await writeFile(file, reader.adapt(block.text))
  const hasLibrary = spawnSync('python3', ['-c', 'import apivideo']).status === 0
  await runCommands(reader, {
    ...block,
    text: `python3 ${hasLibrary ? '' : '-m py_compile '}${basename(file)}`,
  })
}

/** The reference of commands is written from the table by which the program reads its arguments. */
function checkUsage({ text, place }: Block): void {
  for (const line of text.trim().split('\n')) {
    const [, words = ''] = /\bkinora ([^)>]*)/.exec(line) ?? []
    assert.ok(words, `${place}: ${line}`)
    const args = [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)
    assert.equal(parse(commands, args).kind, 'run', `${place}: ${line}`)
  }
}

for (const [file, blocks] of pages) {
  const code = blocks.filter(({ language, note }) => language !== '' && !note.startsWith(notes.skipped))
  if (code.length === 0) continue
  test(`the examples of docs/${file} work`, async () => {
    const reader = new Reader()
    let output = ''
    try {
      for (const [index, block] of code.entries()) {
        const { language, section, note } = block
        const isUsage = file === 'cli.md' && section.startsWith('`kinora ')
        const [previous] = code.slice(0, index).slice(-1)
        const isResponse = previous?.language === 'sh' && previous.section === section
        if (isUsage) checkUsage(block)
        else if (language === 'sh') output = await runCommands(reader, block)
        else if (language === 'json')
          await checkJson(reader, block, isResponse ? previous : undefined, output)
        else if (language === 'js' && note === notes.inPage) await runInPage(reader, block)
        else if (language === 'js') await runScript(reader, block, code.slice(index + 1))
        else if (language === 'html') await openHtml(reader, block)
        else if (language === 'python') await runPython(reader, block)
        else assert.fail(`${block.place}: nothing runs ${language}. Say why in a comment above the block.`)
      }
    } finally {
      await reader.close()
    }
  })
}
