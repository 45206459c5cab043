import assert from 'node:assert/strict'
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const productionKey = 'test-production-key'
export const sandboxKey = 'test-sandbox-key'

/** The environment of the tests without settings of Kinora, and without those of npm, which change hints in messages. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(KINORA|npm)_/.test(name))
  // The compile cache halves the start time of a process.
  return {
    ...Object.fromEntries(inherited),
    // The machine that runs the tests may have little free space.
    KINORA_DISK_RESERVE: '0',
    // Whoever runs the tests may be logged in to a service.
    XDG_CONFIG_HOME: '/dev/null',
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'),
  }
}

export type Kinora = {
  url: string
  process: ChildProcess
  /** The output so far, stdout and stderr. */
  output(): string
  /** Stops the process gracefully and returns its exit code. */
  stop(): Promise<number | null>
  /** kill -9 */
  kill(): Promise<void>
}

/** Starts the service in its own process, on a free port, and does not wait until it is ready. */
export function spawnKinora(env: Record<string, string> = {}, args?: string[]): Omit<Kinora, 'url'> {
  // The previous version may not know all of them.
  const ports = {
    KINORA_PORT: '0',
    KINORA_RTMP_PORT: '0',
    ...(!args && { KINORA_SRT_PORT: '0', KINORA_WEBRTC_PORT: '0' }),
  }
  const child = spawn(process.execPath, args ?? [process.env.TEST_SERVER ?? 'server/main.ts'], {
    cwd: root,
    env: { ...cleanEnvironment(), ...ports, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const append = (chunk: Buffer) => {
    output += chunk
  }
  child.stdout.on('data', append)
  child.stderr.on('data', append)
  const exited = once(child, 'exit')
  const stop = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    await exited
    return child.exitCode
  }
  return {
    process: child,
    output: () => output,
    stop: () => stop('SIGTERM'),
    async kill() {
      await stop('SIGKILL')
    },
  }
}

/** Starts the service in its own process, on a free port. */
export async function startKinora(env?: Record<string, string>, args?: string[]): Promise<Kinora> {
  const service = spawnKinora(env, args)
  const { process: child, output } = service
  try {
    await waitFor(() => /kinora ready.*\n/.test(output()) || child.exitCode !== null, output)
  } catch (error) {
    await service.kill()
    throw error
  }
  if (child.exitCode !== null) throw new Error(`kinora ended with ${child.exitCode}:\n${output()}`)
  return { ...service, url: /kinora ready\s.*?(https?:\/\/\S+)/.exec(output())?.[1] ?? '' }
}

/** The path of the `kinora` command, bundled. */
export const kinoraCommand = () => process.env.TEST_COMMAND_LINE ?? 'bin/kinora.mjs'

/** Runs a `kinora` command until it exits: `runKinora(['keys', 'list'])`. */
export async function runKinora(
  args: string[],
  env: Record<string, string> = {},
  options: SpawnOptions = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [kinoraCommand(), ...args], {
    cwd: root,
    timeout: timeoutMs,
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

/** Registers cleanup functions: a test context, or the hooks of a file. */
type Cleanup = { after(cleanup: () => unknown): void }

/** Creates a database for one test and drops it afterwards. The database is migrated unless it should be empty. */
export async function createDatabase(t: Cleanup, { isEmpty = false } = {}): Promise<string> {
  const server = process.env.TEST_POSTGRES
  if (!server) throw new Error('run the tests with npm test: it starts the Postgres that they share')
  const name = `t_${randomUUID().replaceAll('-', '')}`
  // The default strategy writes each page to the log and the cache first.
  const copy = isEmpty ? '' : ' template template_kinora strategy file_copy'
  await query(server, `create database ${name}${copy}`)
  t.after(() => query(server, `drop database if exists ${name} with (force)`))
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

const pools = new Map<string, pg.Pool>()

/** Keeps a connection open for the next query, because connecting takes longer than most queries. */
export async function query(url: string, sql: string, values: unknown[] = []) {
  let pool = pools.get(url)
  if (!pool) {
    pool = new pg.Pool({ connectionString: url, max: 4, idleTimeoutMillis: 2_000, allowExitOnIdle: true })
    // Dropping the database closes its idle connections.
    pool.on('error', () => {})
    pools.set(url, pool)
  }
  return (await pool.query(sql, values)).rows
}

// Removed when the process exits. Cleanup functions run in the order of their registration, so a folder would be removed
// before the service that uses it has stopped.
const folders: string[] = []
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

export async function temporaryFolder(_t: Cleanup): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-'))
  // If the tests run as root, another user runs the scripts in it that replace ffmpeg.
  await chmod(folder, 0o777)
  folders.push(folder)
  return folder
}

export type Service = Kinora & { database: string; data: string }

/** Where a helper sends its requests, and with which key. Without a key, it is that of production. */
export type Target = Pick<Kinora, 'url'> & { key?: string }

/** The settings of every process that has this database and data folder. */
export const settingsOf = ({ database, data }: Pick<Service, 'database' | 'data'>) => ({
  KINORA_DATABASE_URL: database,
  KINORA_DATA_DIR: data,
  KINORA_PRODUCTION_KEY: productionKey,
  KINORA_SANDBOX_KEY: sandboxKey,
  KINORA_LOG_LEVEL: 'warn',
})

/** Starts a service with its own database and both API keys, and stops it after the test. */
export async function kinora(t: Cleanup, env: Record<string, string> = {}): Promise<Service> {
  let service: Kinora | undefined
  // Cleanup functions run in the order of their registration, and the service has to stop before its database is dropped.
  t.after(() => service?.stop())
  const database = await createDatabase(t)
  const data = env.KINORA_DATA_DIR ?? (await temporaryFolder(t))
  service = await startKinora({ ...settingsOf({ database, data }), ...env })
  return { ...service, database, data }
}

/** A statement for tests that share a database. */
export const deleteAllVideos =
  'delete from video_count_changes; delete from video_counts; delete from all_videos'

const storeIdKey = 'kinora-store-id'

/**
 * Does what the first sweep does. On a busy machine the sweep starts when tests have deleted rows already, and it would
 * take the files of their videos for those of another database.
 */
export async function identifyStore({ database, data }: Service): Promise<void> {
  await query(database, `insert into sweep_state values ('store', $1) on conflict do nothing`, [
    { id: randomUUID() },
  ])
  const [row] = await query(database, `select value from sweep_state where name = 'store'`)
  // The sweep may read the file at any time, and must not find it empty.
  await writeFile(join(data, storeIdKey), row.value.id)
  await rename(join(data, storeIdKey), join(data, 'files', storeIdKey))
}

/** The paths of all files in the store, without those that identify it and its state. */
export async function listFiles({ data }: Pick<Service, 'data'>): Promise<string[]> {
  const entries = await readdir(join(data, 'files'), { recursive: true, withFileTypes: true }).catch(
    (error) => {
      // A folder was removed while the others were read.
      if (error.code === 'ENOENT') return undefined
      throw error
    },
  )
  if (!entries) return listFiles({ data })
  return entries
    .filter((entry) => entry.isFile() && !/^kinora-store-(id|generation)$/.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
}

/** Starts one service for all tests of a file, because a start takes longer than most tests. Each test begins without videos. */
export function sharedKinora(env: Record<string, string> = {}): Service {
  const service = {} as Service
  const ends: (() => unknown)[] = []
  before(async () => {
    Object.assign(service, await kinora({ after: (end) => ends.push(end) }, env))
    if (env.KINORA_ROLES !== 'api') await identifyStore(service)
  })
  beforeEach(() => query(service.database, deleteAllVideos))
  after(async () => {
    for (const end of ends) await end()
  })
  return service
}

// biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
export type ApiResponse = { status: number; headers: Headers; text: string; body: any }

/** Sends a request with an API key and, optionally, a JSON body. */
export async function call(
  url: string,
  { method = 'GET', key = productionKey, json, headers, body }: CallOptions = {},
): Promise<ApiResponse> {
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

/** Like `call`, for requests that may get no database connection in time: it asks again after 503, as clients do. */
export async function callUntilAvailable(url: string, options: CallOptions = {}): Promise<ApiResponse> {
  let response: ApiResponse | undefined
  await waitFor(
    async () => {
      response = await call(url, options)
      return response.status !== 503
    },
    () => response?.text ?? '',
  )
  return response!
}

type CallOptions = {
  method?: string
  /** '' sends no key. */
  key?: string
  json?: unknown
  headers?: Record<string, string>
  body?: string | FormData
}

/** Like `call`, for requests that fetch rejects or changes: unnormalized paths, and bodies with any method. */
export async function callRaw(url: string, path: string, options: RawOptions = {}): Promise<ApiResponse> {
  const { method = 'GET', body } = options
  const isChunked = options.headers?.['transfer-encoding'] !== undefined
  // Node sends no Content-Length with methods that usually have no body, and the server would read the body as another request.
  const length = body === undefined || isChunked ? {} : { 'content-length': Buffer.byteLength(body) }
  const headers = { ...options.headers, ...length }
  const sent = request(url, { method, path, headers, agent: false, timeout: timeoutMs })
  sent.on('timeout', () => sent.destroy(new Error(`no response to ${method} ${path}`)))
  // Errors after the start of the response do not matter: the response to a rejected HEAD request may have a body.
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

/** Sends raw text over a connection and returns everything that is received until the connection closes. */
export async function sendRaw(url: string, text: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.setTimeout(timeoutMs, () => socket.destroy(new Error('no response')))
  socket.write(text)
  let received = ''
  // The service may close the connection while the test is still writing.
  await socket
    .forEach((chunk: Buffer) => {
      received += chunk
    })
    .catch((error) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') throw error
    })
  return received
}

/** Checks that the response is an API error of this type about this attribute, by default about none. */
export function assertProblem(
  response: ApiResponse,
  status: number,
  slug: string,
  name = status === 400 ? '' : undefined,
): void {
  assert.equal(response.status, status, response.text)
  assert.equal(response.headers.get('content-type'), 'application/problem+json')
  assert.equal(response.body.status, status)
  assert.equal(response.body.type.split('/').pop(), slug, response.text)
  assert.equal(response.body.name, name, response.text)
  assert.ok(response.body.title.length > 5, response.text)
}

/** Lines of the log that should not be there unless a test provokes them. */
export const errorLine = /request failed|"level":"(error|fatal)"/

export const assertNoErrorsLogged = ({ output }: Pick<Kinora, 'output'>) =>
  assert.deepEqual(
    output()
      .split('\n')
      .filter((line) => errorLine.test(line)),
    [],
  )

/** Much longer than anything takes on a busy machine, so that no test depends on speed. */
export const timeoutMs = 300_000

/**
 * Waits until the condition is true. Without `progress`, it fails after `timeoutMs`. With `progress`, it fails only if the
 * state that `progress` returns does not change for that long.
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
    if (waitedMs > timeoutMs) {
      const before = state
      state = await progress?.()
      if (state === before) throw new Error(`the condition was not true within ${timeoutMs} ms\n${detail()}`)
      start = Date.now()
    }
    // Checks less often over time, because each check takes CPU time from the work that the test waits for. Work with
    // progress takes longer, and its end does not pass.
    await delay(progress ? Math.min(1_500, 50 + waitedMs / 4) : Math.min(500, 20 + waitedMs / 10))
  }
}

/** Waits until a process reports that it is ready. On a busy machine a check can exceed its time limit. */
export async function waitUntilReady(url: string): Promise<ApiResponse> {
  let response: ApiResponse | undefined
  await waitFor(async () => {
    response = await call(`${url}/readyz`, { key: '' })
    return response.status === 200
  })
  return response!
}

// --- uploads

export const MiB = 1024 * 1024

export type FormPart = { name: string; filename?: string; content: string | Buffer }

/** Builds a multipart/form-data body. */
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
  /** The Content-Range header. */
  range?: string
  key?: string
  /** The name of the form field of the file. */
  field?: string
  filename?: string
  /** Text fields before and after the file. */
  before?: Record<string, string>
  after?: Record<string, string>
  boundary?: string
  headers?: Record<string, string>
}

/** Undefined for the error page of a proxy. */
const parseJson = (text: string) => (/^[[{]/.test(text) ? JSON.parse(text) : undefined)

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

/** Uploads a file in one request. */
export async function sendFile(
  url: string,
  content: Buffer,
  options: FileOptions = {},
): Promise<ApiResponse> {
  const { body, headers } = formOf(content, options)
  const response = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: parseJson(text),
  }
}

export type OpenUpload = {
  /** Sends the next bytes. Resolves when they are written to the socket. */
  write(bytes: number): Promise<void>
  end(): Promise<ApiResponse>
  abort(): Promise<void>
}

/** Starts an upload whose bytes the test sends step by step. */
export function openUpload(url: string, content: Buffer, options: FileOptions = {}): OpenUpload {
  const { body, headers } = formOf(content, options)
  const sent = request(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': body.length },
    agent: false,
  })
  sent.setTimeout(timeoutMs, () => sent.destroy(new Error('no response')))
  const closed = new Promise<void>((done) => sent.once('close', done))
  const answer = new Promise<ApiResponse>((resolve, reject) => {
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
        body: parseJson(text),
      })
    })
  })
  answer.catch(() => {})
  let written = 0
  return {
    async write(bytes) {
      const next = body.subarray(written, written + bytes)
      written += next.length
      // The callback is not called for bytes that are lost with the connection.
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

/** The path of a stored source on disk. */
export const sourcePath = (data: string, videoId: string) => join(data, 'files/videos', videoId, 'source')

export const fileExists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Waits until the source is stored and checks its bytes. */
export async function assertSource(data: string, videoId: string, content: Buffer) {
  const path = sourcePath(data, videoId)
  await waitFor(
    () => fileExists(path),
    () => `no source of ${videoId}`,
  )
  const stored = await readFile(path)
  assert.equal(stored.length, content.length, 'size of the source')
  assert.ok(stored.equals(content), 'the stored source differs from the uploaded bytes')
}
