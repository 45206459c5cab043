import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import autocannon from 'autocannon'
import { createAndUpload } from './encode-kinora.ts'
import { makeSource } from './encode-sources.ts'
import { proxyServer, startNginx } from './nginx.ts'
import {
  authorization,
  createVideo,
  median,
  Resources,
  type RunningServer,
  startKinora,
  withTemporaryFolder,
} from './servers.ts'
import { atLeast, printTable, type Row } from './table.ts'

// Several processes on one database and one data folder compared with one process.

const rounds = 3
const cores = ['0', '1'] as const
const requestSeconds = 6
/** Of a core, for each `api` process. What it calls and what calls it need the rest of the machine. */
const apiShare = 0.2

export async function scaleOut(parts: string[]): Promise<void> {
  const runs = (part: string) => parts.length === 0 || parts.includes(part)
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const env = { KINORA_DATABASE_URL: await resources.postgres(folder) }
    const rows: Row[] = []
    if (runs('workers')) rows.push(...(await compareWorkers(folder, env)))
    if (runs('api')) rows.push(...(await compareApi(folder, env)))
    printTable('Two processes compared with one', rows)
  })
}

type Env = Record<string, string>

/** Each worker has one encode slot and a core of its own. */
async function compareWorkers(folder: string, env: Env): Promise<Row[]> {
  const long = await makeSource(folder, { kind: 'encoded', size: '720p', seconds: 60 })
  const short = await makeSource(folder, { kind: 'encoded', size: '720p', seconds: 6 })
  const data = join(folder, 'workers')
  await using resources = new Resources()
  const api = await resources.server(startKinora(data, { ...env, KINORA_ROLES: 'api' }))
  const startWorker = async (core: string) => {
    const worker = await startKinora(data, { ...env, KINORA_ROLES: 'worker', KINORA_ENCODE_SLOTS: '1' })
    pin(worker, core)
    return worker
  }
  const rows: Row[] = []
  for (const { measured, paths, goal } of [
    { measured: 'one video of 60 s (720p), workers with a core each', paths: [long], goal: 1.85 },
    { measured: 'ten videos of 6 s', paths: Array<string>(10).fill(short), goal: 1.9 },
  ]) {
    const seconds = { 1: [] as number[], 2: [] as number[] }
    // In turns, because other programs use the machine, too.
    for (let round = 0; round < rounds; round++)
      for (const count of [1, 2] as const) {
        const workers = await Promise.all(cores.slice(0, count).map(startWorker))
        seconds[count].push(await encodeAll(api.url, paths))
        await Promise.all(workers.map(stop))
      }
    const [one, two] = [median(seconds[1]), median(seconds[2])]
    const [kinora, reference] = [`${two.toFixed(1)} s`, `${one.toFixed(1)} s`]
    rows.push({ measured, kinora, reference, ratio: one / two, goal: atLeast(goal, one / two) })
  }
  return rows
}

/** The encoders that it starts inherit the core. */
function pin({ child }: RunningServer, core: string): void {
  const args = ['--all-tasks', '--pid', '--cpu-list', core, String(child.pid)]
  const { status, stderr } = spawnSync('taskset', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`taskset failed: ${stderr}`)
}

async function stop({ child }: RunningServer): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

type Status = { encoding: { qualities: { status: string }[] } }

/** Uploads the videos at once. Returns the seconds until all are encoded. */
async function encodeAll(url: string, paths: string[]): Promise<number> {
  const uploaded = await Promise.all(paths.map((path) => createAndUpload(url, path)))
  const begun = Math.min(...uploaded.map(({ lastByteAt }) => lastByteAt))
  for (const { videoId } of uploaded)
    for (;;) {
      const response = await fetch(`${url}/videos/${videoId}/status`, { headers: { authorization } })
      const { qualities } = ((await response.json()) as Status).encoding
      if (qualities.some(({ status }) => status === 'failed')) throw new Error('a quality failed')
      if (qualities.length > 0 && qualities.every(({ status }) => status === 'encoded')) break
      await delay(100)
    }
  return (performance.now() - begun) / 1_000
}

/** Each process has the same share of a core, so that the processes limit the rate, and not what they share. */
async function compareApi(folder: string, env: Env): Promise<Row[]> {
  await using resources = new Resources()
  const data = join(folder, 'api')
  const start = () =>
    resources.server(startKinora(data, { ...env, KINORA_ROLES: 'api', KINORA_RATE_LIMITS: 'off' }))
  const processes = [await start(), await start()]
  const videoId = await createVideo(processes[0]!.url, { title: 'Bench' })
  for (const [i, { child }] of processes.entries())
    resources.add(limitCpu(`kinora-bench-${process.pid}-${i}`, child.pid!))
  const proxies: Record<1 | 2, string> = { 1: '', 2: '' }
  for (const count of [1, 2] as const) {
    const upstreams = processes.slice(0, count).map(({ url }) => url)
    const nginx = await startNginx(join(folder, `nginx-${count}`), (port) => proxyServer(port, upstreams))
    if (!nginx) {
      console.log('nginx is not installed: the comparison of api processes is left out')
      return []
    }
    resources.add(nginx.close)
    proxies[count] = `${nginx.url}/videos/${videoId}`
  }
  const rates = { 1: [] as number[], 2: [] as number[] }
  for (let round = 0; round <= rounds; round++)
    for (const count of [1, 2] as const) {
      const rate = await requestsPerSecond(proxies[count])
      // The first round warms up.
      if (round > 0) rates[count].push(rate)
    }
  const [one, two] = [median(rates[1]), median(rates[2])]
  const [kinora, reference] = [`${Math.round(two)}/s`, `${Math.round(one)}/s`]
  const measured = `GET /videos/{videoId} behind nginx, api processes with ${apiShare} of a core each`
  return [{ measured, kinora, reference, ratio: two / one, goal: atLeast(1.7, two / one) }]
}

async function requestsPerSecond(url: string): Promise<number> {
  const result = await autocannon({
    url,
    connections: 32,
    duration: requestSeconds,
    headers: { authorization },
  })
  if (result.non2xx + result.errors > 0) throw new Error(`${result.non2xx + result.errors} requests failed`)
  return result.requests.total / result.duration
}

const periodMicroseconds = 20_000

/** Limits the CPU time of a process by a control group of version 1 or 2. Returns what removes the limit. */
function limitCpu(name: string, pid: number): () => void {
  const root = '/sys/fs/cgroup'
  const isSecond = readOrUndefined(join(root, 'cgroup.controllers')) !== undefined
  const parent = isSecond ? root : join(root, 'cpu')
  const group = join(parent, name)
  const quota = Math.round(apiShare * periodMicroseconds)
  if (isSecond) writeFileSync(join(root, 'cgroup.subtree_control'), '+cpu')
  mkdirSync(group)
  if (isSecond) writeFileSync(join(group, 'cpu.max'), `${quota} ${periodMicroseconds}`)
  else {
    writeFileSync(join(group, 'cpu.cfs_period_us'), String(periodMicroseconds))
    writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quota))
  }
  writeFileSync(join(group, 'cgroup.procs'), String(pid))
  return () => {
    writeFileSync(join(parent, 'cgroup.procs'), String(pid))
    rmdirSync(group)
  }
}

function readOrUndefined(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
