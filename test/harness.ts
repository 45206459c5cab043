import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import ApiVideoClient from '@api.video/nodejs-client'
import pg from 'pg'

export const root = fileURLToPath(new URL('..', import.meta.url))
export const productionKey = 'test-production-key'
export const sandboxKey = 'test-sandbox-key'

/** What Kinora must not inherit from the shell that runs the tests. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KINORA_')))
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
  args = ['server/main.ts'],
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
      60_000,
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

/** A fresh, migrated database for one test; dropped after it. */
export async function createDatabase(t: TestContext): Promise<string> {
  const server = process.env.TEST_POSTGRES
  if (!server) throw new Error('run the tests with npm test: it starts the Postgres that they share')
  const name = `t_${randomUUID().replaceAll('-', '')}`
  await query(server, `create database ${name} template template_kinora`)
  t.after(() => query(server, `drop database ${name} with (force)`))
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

export async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A running service with a database of its own and both keys; ended after the test. */
export async function kinora(t: TestContext, env: Record<string, string> = {}) {
  const database = await createDatabase(t)
  const service = await startKinora({
    KINORA_DATABASE_URL: database,
    KINORA_DATA_DIR: await temporaryFolder(t),
    KINORA_PRODUCTION_KEY: productionKey,
    KINORA_SANDBOX_KEY: sandboxKey,
    KINORA_LOG_LEVEL: 'warn',
    ...env,
  })
  t.after(() => service.stop())
  return { ...service, database }
}

/** The published client, pointed at the service. */
export const client = (url: string, apiKey = productionKey) => new ApiVideoClient({ baseUri: url, apiKey })

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
  key?: string | undefined
  json?: unknown
  headers?: Record<string, string>
  body?: string
}

/** Waits until the condition holds, at most so long. */
export async function waitFor(
  condition: () => boolean | Promise<boolean>,
  withinMs = 10_000,
  detail: () => string = () => '',
): Promise<void> {
  const end = Date.now() + withinMs
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`did not come true within ${withinMs} ms\n${detail()}`)
    await delay(20)
  }
}
