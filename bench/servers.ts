import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
export const key = 'bench-production-key'
export const authorization = `Basic ${btoa(`${key}:`)}`

/** Starts a server and waits for the line that tells its address. */
export async function startServer(
  file: string,
  env: Record<string, string>,
): Promise<{ child: ChildProcess; url: string }> {
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
      return { child, url: url.replace('localhost', '127.0.0.1') }
    }
  }
  throw new Error(`${file} did not start`)
}

export async function stopServer({ child }: { child: ChildProcess }): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

export const median = (values: number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
