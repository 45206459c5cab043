import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { openEmbeddedPostgres } from '../server/lib/postgres/open.ts'

export const root = fileURLToPath(new URL('..', import.meta.url))
const key = 'bench-production-key'
export const authorization = `Basic ${btoa(`${key}:`)}`

export type RunningServer = {
  child: ChildProcess
  url: string
  /** For encoders. */
  rtmpPort: number
  srtPort: number
}

/** Starts a server and waits until it prints its URL. */
export async function startServer(file: string, env: Record<string, string>): Promise<RunningServer> {
  const child = spawn(process.execPath, [file], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })
  for await (const line of lines) {
    const url = / ready\s.*?(http:\/\/\S+)/.exec(line)?.[1]
    if (url) {
      lines.close()
      child.stdout.resume()
      const portOf = (protocol: string) => Number(line.split(`${protocol}://`)[1]?.match(/:(\d+)/)?.[1])
      const [rtmpPort, srtPort] = [portOf('rtmp'), portOf('srt')]
      return { child, url: url.replace('localhost', '127.0.0.1'), rtmpPort, srtPort }
    }
  }
  throw new Error(`${file} did not start`)
}

export const startKinora = (dataFolder: string, env: Record<string, string> = {}): Promise<RunningServer> =>
  startServer('server/main.ts', {
    KINORA_DATA_DIR: dataFolder,
    KINORA_PORT: '0',
    KINORA_RTMP_PORT: '0',
    KINORA_SRT_PORT: '0',
    KINORA_WEBRTC_PORT: '0',
    KINORA_PRODUCTION_KEY: key,
    KINORA_LOG_LEVEL: 'warn',
    // The files of one run would fill the disk during the next ones.
    KINORA_RESTORE_DAYS: '0',
    ...env,
  })

async function stopServer({ child }: { child: ChildProcess }): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

/** An embedded Postgres that the benchmark and the service share. */
export async function startPostgres(folder: string): Promise<{ url: string; close(): Promise<void> }> {
  const log = { info() {}, warn: console.warn, error: console.error }
  const postgres = await openEmbeddedPostgres({ folder: join(folder, 'postgres'), log })
  const { user, password, host, database } = postgres.connection
  return {
    url: `postgres://${user}:${password}@localhost/${database}?host=${encodeURIComponent(host)}`,
    close: () => postgres.close(),
  }
}

/** Runs a benchmark in a temporary folder, which is removed afterwards. */
export async function withTemporaryFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-bench-'))
  try {
    await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Closes resources in reverse order of their opening. */
export class Resources implements AsyncDisposable {
  #closers: (() => unknown)[] = []

  add(close: () => unknown): void {
    this.#closers.push(close)
  }

  async server(starting: Promise<RunningServer>): Promise<RunningServer> {
    const server = await starting
    this.add(() => stopServer(server))
    return server
  }

  async postgres(folder: string): Promise<string> {
    const { url, close } = await startPostgres(folder)
    this.add(close)
    return url
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closers.toReversed()) await close()
  }
}

export async function createVideo(api: string, payload: object = {}): Promise<string> {
  const response = await fetch(`${api}/videos`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(payload),
  })
  const { videoId } = (await response.json()) as { videoId: string }
  return videoId
}

export const median = (values: number[]) => percentile(values, 0.5)

export const percentile = (values: number[], fraction: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * fraction)] ?? Number.NaN
