import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Browser } from 'playwright-core'
import { call, kinoraCommand, productionKey, root, type Service, waitFor } from '../harness.ts'
import type { Block } from './markdown.ts'

/** Where the docs are tried. */
export type Place = {
  service: Service
  /** The current folder of the reader. */
  folder: string
  /** A video that plays. */
  videoId: string
  /** Of the reader's own server. */
  port: number
  /** Undefined if browser tests are skipped. */
  browser: Browser | undefined
}

/** The video of all examples. */
const exampleVideo = 'vi4blUQJFrYWbaG44NChkH27'

/** What a reader has after the blocks so far. */
export class Reader {
  readonly place: Place
  /** Variables of the shell. */
  env: Record<string, string>
  /** Texts of examples, and what the service returned instead. */
  readonly replaced: Map<string, string>
  /** Scripts that were saved, by name. */
  readonly scripts = new Map<string, string>()
  readonly ends: (() => unknown)[] = []

  constructor(place: Place) {
    const { service, folder, videoId } = place
    this.place = place
    this.env = {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      KINORA_KEY: productionKey,
      VIDEO_ID: videoId,
      KINORA_URL: service.url,
      KINORA_DATA_DIR: service.data,
      KINORA_DATABASE_URL: service.database,
    }
    this.replaced = new Map([[exampleVideo, videoId]])
  }

  /** The only changes to the text of the docs. */
  adapt(text: string): string {
    const { service, port } = this.place
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
    const { service, videoId } = this.place
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

/** Runs a block in a shell and returns what it prints. A server goes on until the reader is closed. */
export async function runCommands(reader: Reader, { text, place }: Block): Promise<string> {
  const { folder, port } = reader.place
  const state = join(folder, 'variables')
  const script = `${prelude}\n${reader.adapt(text)}\nenv -0 > '${state}'`
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: reader.env,
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
      async () => (await isReachable(port)) || child.exitCode !== null,
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

const isReachable = (port: number) =>
  fetch(`http://localhost:${port}`).then(
    () => true,
    () => false,
  )

/** A script that a later block starts gets the name that it has there. Others are run at once. */
export async function runScript(reader: Reader, block: Block, later: Block[]): Promise<void> {
  const [, name] = later.map(({ text }) => /\bnode (\S+\.mjs)/.exec(text)).find(Boolean) ?? []
  const file = name ?? 'snippet.mjs'
  await writeFile(join(reader.place.folder, file), reader.adapt(block.text))
  reader.scripts.set(file, block.text)
  if (!name) await runCommands(reader, { ...block, text: `node ${file}` })
}

/** Without the library of the example, its syntax is checked. */
export async function runPython(reader: Reader, block: Block): Promise<void> {
  if (spawnSync('python3', ['--version']).error) return
  const file = join(reader.place.folder, 'snippet.py')
  await writeFile(file, reader.adapt(block.text))
  const hasLibrary = spawnSync('python3', ['-c', 'import apivideo']).status === 0
  await runCommands(reader, {
    ...block,
    text: `python3 ${hasLibrary ? '' : '-m py_compile '}${basename(file)}`,
  })
}
