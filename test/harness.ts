import assert from 'node:assert/strict'
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { chmod, mkdtemp, readFile, stat } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import ApiVideoClient from '@api.video/nodejs-client'
import pg from 'pg'
import { programsPath } from './programs.ts'

export const root = fileURLToPath(new URL('..', import.meta.url))
export const productionKey = 'test-production-key'
export const sandboxKey = 'test-sandbox-key'

/** Without what Kinora must not inherit from the shell that runs the tests. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('KINORA_'))
  // The tests start a hundred processes: with the compiled modules at hand, each is up in half the time.
  return {
    ...Object.fromEntries(inherited),
    PATH: programsPath(),
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'),
  }
}

export type Kinora = {
  url: string
  process: ChildProcess
  /** All that it has printed. */
  output(): string
  /** An orderly end; the exit code. */
  stop(): Promise<number | null>
  /** kill -9 */
  kill(): Promise<void>
}

/** Runs the service as a user would, in a process of its own on a free port. */
export async function startKinora(
  env: Record<string, string> = {},
  args = [process.env.TEST_SERVER ?? 'server/main.ts'],
): Promise<Kinora> {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...cleanEnvironment(), KINORA_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const gather = (chunk: Buffer) => {
    output += chunk
  }
  child.stdout.on('data', gather)
  child.stderr.on('data', gather)
  const exited = once(child, 'exit')
  const stop = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    await exited
    return child.exitCode
  }
  try {
    await waitFor(
      () => /kinora ready.*\n/.test(output) || child.exitCode !== null,
      () => output,
    )
  } catch (error) {
    await stop('SIGKILL')
    throw error
  }
  if (child.exitCode !== null) throw new Error(`kinora ended with ${child.exitCode}:\n${output}`)
  return {
    url: /kinora ready\s.*?(https?:\/\/\S+)/.exec(output)?.[1] ?? '',
    process: child,
    output: () => output,
    stop: () => stop('SIGTERM'),
    async kill() {
      await stop('SIGKILL')
    },
  }
}

/** Runs a command of Kinora to its end: `runKinora(['keys', 'list'])`, or the service when it cannot start. */
export async function runKinora(
  args: string[],
  env: Record<string, string> = {},
  options: SpawnOptions = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, ['bin/kinora.mjs', ...args], {
    cwd: root,
    timeout: patienceMs,
    ...options,
    env: { ...cleanEnvironment(), KINORA_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const printed = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on('data', (chunk: Buffer) => {
      printed[name] += chunk
    })
  }
  await once(child, 'close')
  return { code: child.exitCode, ...printed }
}

/** What clean-up is told to: a test, or all tests of a file. */
type Ends = { after(end: () => unknown): void }

/** A fresh database for one test, migrated unless it is to be empty; dropped after it. */
export async function createDatabase(t: Ends, { isEmpty = false } = {}): Promise<string> {
  const server = process.env.TEST_POSTGRES
  if (!server) throw new Error('run the tests with npm test: it starts the Postgres that they share')
  const name = `t_${randomUUID().replaceAll('-', '')}`
  await query(server, `create database ${name}${isEmpty ? '' : ' template template_kinora'}`)
  t.after(() => query(server, `drop database if exists ${name} with (force)`))
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

export async function query(url: string, sql: string, values: unknown[] = []) {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql, values)).rows
  } finally {
    await client.end()
  }
}

// Removed when the process ends, because what runs after a test runs in the order in which it was asked for: the
// folder would go before the service that works in it.
const folders: string[] = []
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

export async function temporaryFolder(_t: Ends): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-'))
  // Programs in it that stand in for ffmpeg are run by another user when the tests run as root.
  await chmod(folder, 0o777)
  folders.push(folder)
  return folder
}

export type Service = Kinora & { database: string; data: string }

/** A running service with a database of its own and both keys; ended after the test. */
export async function kinora(t: Ends, env: Record<string, string> = {}): Promise<Service> {
  let service: Kinora | undefined
  // Ends are called in the order in which they were told: the service goes before its database does.
  t.after(() => service?.stop())
  const database = await createDatabase(t)
  const data = env.KINORA_DATA_DIR ?? (await temporaryFolder(t))
  service = await startKinora({
    KINORA_DATABASE_URL: database,
    KINORA_DATA_DIR: data,
    KINORA_PRODUCTION_KEY: productionKey,
    KINORA_SANDBOX_KEY: sandboxKey,
    KINORA_LOG_LEVEL: 'warn',
    ...env,
  })
  return { ...service, database, data }
}

/** A statement for tests that share a database. */
export const deleteAllVideos =
  'delete from video_count_changes; delete from video_counts; delete from all_videos'

/** One service for all tests of a file, as a start takes longer than most of them; each finds it without videos. */
export function sharedKinora(env: Record<string, string> = {}): Service {
  const service = {} as Service
  const ends: (() => unknown)[] = []
  before(async () => {
    Object.assign(service, await kinora({ after: (end) => ends.push(end) }, env))
  })
  beforeEach(() => query(service.database, deleteAllVideos))
  after(async () => {
    for (const end of ends) await end()
  })
  return service
}

/** The published client, pointed at the service. */
export const client = (url: string, apiKey = productionKey) => new ApiVideoClient({ baseUri: url, apiKey })

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export type Answer = { status: number; headers: Headers; text: string; body: any }

/** One request, key and JSON included. */
export async function call(
  url: string,
  { method = 'GET', key = productionKey, json, headers, body }: CallOptions = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(key && { authorization: `Basic ${btoa(`${key}:`)}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: json !== undefined ? JSON.stringify(json) : (body ?? null),
  })
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '') && text !== ''
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  }
}

type CallOptions = {
  method?: string
  /** '' for none */
  key?: string
  json?: unknown
  headers?: Record<string, string>
  body?: string
}

/** As `call`, for what fetch would not send: any path as it is, and any method with any body. */
export async function callRaw(url: string, path: string, options: RawOptions = {}): Promise<Answer> {
  const { method = 'GET', body } = options
  const isChunked = options.headers?.['transfer-encoding'] !== undefined
  // Node tells no length with methods that have no body by custom: the body would count as another request.
  const length = body === undefined || isChunked ? {} : { 'content-length': Buffer.byteLength(body) }
  const headers = { ...options.headers, ...length }
  const sent = request(url, { method, path, headers, agent: false, timeout: patienceMs })
  sent.on('timeout', () => sent.destroy(new Error(`no answer to ${method} ${path}`)))
  // After the answer has begun, errors are about what follows it: a refused HEAD may come with a body.
  sent.on('error', () => {})
  sent.end(body)
  const [response] = await once(sent, 'response')
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  const isJson = /json/.test(response.headers['content-type'] ?? '') && text !== ''
  return {
    status: response.statusCode,
    headers: new Headers(response.headers),
    text,
    body: isJson ? JSON.parse(text) : undefined,
  }
}

type RawOptions = { method?: string; headers?: Record<string, string>; body?: string | Buffer }

/** Sends the text as it is and returns all that comes back until the connection ends. */
export async function sendRaw(url: string, text: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.setTimeout(patienceMs, () => socket.destroy(new Error('no answer')))
  socket.write(text)
  let answer = ''
  // The service may end the connection while we still write: what it said before counts.
  await socket
    .forEach((chunk: Buffer) => {
      answer += chunk
    })
    .catch((error) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') throw error
    })
  return answer
}

/** Checks that the answer is a problem of this kind, about this name (undefined: about none). */
export function assertProblem(answer: Answer, status: number, slug: string, name?: string): void {
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.headers.get('content-type'), 'application/problem+json')
  assert.equal(answer.body.status, status)
  assert.equal(answer.body.type.split('/').pop(), slug, answer.text)
  assert.equal(answer.body.name, name, answer.text)
  assert.ok(answer.body.title.length > 5, answer.text)
}

/** Far longer than anything takes, even on a busy machine: how fast something is decides no test. */
export const patienceMs = 120_000

/**
 * Waits until the condition holds. With `progress`, work that gets somewhere may take any time, up to the limit of the
 * whole test: the wait fails once the state that `progress` describes has not changed for as long as the patience lasts.
 */
export async function waitFor(
  condition: () => boolean | Promise<boolean>,
  detail: () => string = () => '',
  progress?: () => Promise<string>,
): Promise<void> {
  let start = Date.now()
  let state = await progress?.()
  while (!(await condition())) {
    const waitedMs = Date.now() - start
    if (waitedMs > patienceMs) {
      const before = state
      state = await progress?.()
      if (state === before) throw new Error(`did not come true within ${patienceMs} ms\n${detail()}`)
      start = Date.now()
    }
    // What takes long is looked at less often: to look takes time from what is waited for.
    await delay(Math.min(100, 20 + waitedMs / 20))
  }
}

// --- uploads

export const MiB = 1024 * 1024

export type FormPart = { name: string; filename?: string; content: string | Buffer }

/** A multipart/form-data body, byte by byte as a client would make it. */
export function formBody(parts: FormPart[], boundary: string): Buffer {
  const lines = parts.flatMap(({ name, filename, content }) => [
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"`,
    filename === undefined ? '' : `; filename="${filename}"\r\nContent-Type: application/octet-stream`,
    '\r\n\r\n',
    content,
    '\r\n',
  ])
  return Buffer.concat([...lines, `--${boundary}--\r\n`].map((each) => Buffer.from(each)))
}

export type FileOptions = {
  /** Content-Range */
  range?: string
  key?: string
  /** The name of the file's field. */
  field?: string
  filename?: string
  /** Text fields. */
  before?: Record<string, string>
  after?: Record<string, string>
  boundary?: string
  headers?: Record<string, string>
}

function formOf(content: Buffer, options: FileOptions) {
  const { field = 'file', filename = 'film.mp4', boundary = 'x-boundary', key = productionKey } = options
  const texts = (of: Record<string, string> = {}) =>
    Object.entries(of).map(([name, content]) => ({ name, content }))
  const parts = [...texts(options.before), { name: field, filename, content }, ...texts(options.after)]
  return {
    body: formBody(parts, boundary),
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      ...(key && { authorization: `Basic ${btoa(`${key}:`)}` }),
      ...(options.range !== undefined && { 'content-range': options.range }),
      ...options.headers,
    } as Record<string, string>,
  }
}

/** Uploads the bytes in one request. */
export async function sendFile(url: string, content: Buffer, options: FileOptions = {}): Promise<Answer> {
  const { body, headers } = formOf(content, options)
  const response = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text === '' ? undefined : JSON.parse(text),
  }
}

export type OpenUpload = {
  /** The next bytes of the request; resolves when the system has taken them. */
  write(bytes: number): Promise<void>
  end(): Promise<Answer>
  abort(): Promise<void>
}

/** The same, at the pace of the test. */
export function openUpload(url: string, content: Buffer, options: FileOptions = {}): OpenUpload {
  const { body, headers } = formOf(content, options)
  const sent = request(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': body.length },
    agent: false,
  })
  sent.setTimeout(patienceMs, () => sent.destroy(new Error('no answer')))
  const closed = new Promise<void>((done) => sent.once('close', done))
  const answer = new Promise<Answer>((resolve, reject) => {
    sent.on('error', reject)
    sent.on('response', async (response) => {
      let text = ''
      try {
        for await (const chunk of response.setEncoding('utf8')) text += chunk
      } catch (error) {
        reject(error)
      }
      resolve({
        status: response.statusCode ?? 0,
        headers: new Headers(response.headers as Record<string, string>),
        text,
        body: text === '' ? undefined : JSON.parse(text),
      })
    })
  })
  answer.catch(() => {})
  let written = 0
  return {
    async write(bytes) {
      const next = body.subarray(written, written + bytes)
      written += next.length
      // Nobody is told about bytes that a closed connection takes along.
      await Promise.race([new Promise<void>((done) => sent.write(next, () => done())), closed])
    },
    end() {
      sent.end(body.subarray(written))
      return answer
    },
    async abort() {
      sent.destroy()
      await closed
    },
  }
}

/** Where the disk driver keeps the finished source of a video. */
export const sourcePath = (data: string, videoId: string) => join(data, 'files/videos', videoId, 'source')

export const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Waits until the source is stored, and checks that it has exactly these bytes. */
export async function assertSource(data: string, videoId: string, content: Buffer) {
  const path = sourcePath(data, videoId)
  await waitFor(
    () => isThere(path),
    () => `no source of ${videoId}`,
  )
  const stored = await readFile(path)
  assert.equal(stored.length, content.length, 'size of the source')
  assert.ok(stored.equals(content), 'the source has other bytes than were sent')
}
