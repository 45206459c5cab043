import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../bench/nginx.ts'
import { root, temporaryFolder, waitFor } from './harness.ts'

// A real Prometheus, and the expressions of the dashboard.

export const hasPrometheus = ['prometheus', 'promtool'].every(
  (program) => spawnSync(program, ['--version']).status === 0,
)

type Expression = { title: string; expression: string }
type Rule = Expression & { health: string; lastError: string }

type Prometheus = {
  /** The samples of an expression at this time. Rejects if the expression is wrong. */
  query(expression: string): Promise<unknown[]>
  /** The alerts, each evaluated once at least. */
  rules(): Promise<Rule[]>
  /** Resolves when the target has been scraped again. */
  waitForScrape(): Promise<void>
}

/** Scrapes a target every second, and evaluates rules. */
export async function startPrometheus(
  t: { after(end: () => unknown): void },
  { target, rules }: { target: string; rules: string },
): Promise<Prometheus> {
  const folder = await temporaryFolder(t)
  const config = join(folder, 'prometheus.yml')
  await writeFile(
    config,
    JSON.stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [rules],
      scrape_configs: [{ job_name: 'kinora', static_configs: [{ targets: [target] }] }],
    }),
  )
  const address = `127.0.0.1:${await freePort()}`
  const child = spawn(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'tsdb')}`,
      `--web.listen-address=${address}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  const exited = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await exited
  })

  const get = async (path: string) => {
    const response = await fetch(`http://${address}/api/v1/${path}`)
    const body = (await response.json()) as { status: string; error?: string; data: never }
    if (body.status !== 'success') throw new Error(body.error)
    return body.data as never
  }
  const query = async (expression: string) => {
    const { result } = await get(`query?query=${encodeURIComponent(expression)}`)
    return result as { value: [number, string] }[]
  }
  const scrapes = async () => {
    const [sample] = await query('count_over_time(up{job="kinora"}[10m])')
    return Number(sample?.value[1] ?? 0)
  }
  const waitForScrape = async () => {
    const before = await scrapes().catch(() => 0)
    await waitFor(
      async () => (await scrapes().catch(() => 0)) > before,
      () => output,
    )
  }
  await waitForScrape()
  return {
    query,
    waitForScrape,
    async rules() {
      let all: Rule[] = []
      await waitFor(async () => {
        const { groups } = (await get('rules')) as {
          groups: { rules: { name: string; query: string; health: string; lastError?: string }[] }[]
        }
        all = groups
          .flatMap((group) => group.rules)
          .map(({ name, query, health, lastError = '' }) => ({
            title: name,
            expression: query,
            health,
            lastError,
          }))
        return all.every(({ health }) => health !== 'unknown')
      })
      return all
    },
  }
}

type Panel = {
  id: number
  type: string
  title: string
  datasource?: { uid: string }
  gridPos: { x: number; y: number; w: number; h: number }
  targets?: { refId: string; expr: string; datasource: object }[]
}

/** The panels of deploy/grafana.json. */
export async function readPanels(): Promise<Panel[]> {
  const dashboard = JSON.parse(await readFile(join(root, 'deploy/grafana.json'), 'utf8'))
  return dashboard.panels
}

/** The expressions of the panels, with the variables that Grafana replaces. */
export async function dashboardQueries(): Promise<Expression[]> {
  return (await readPanels()).flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      expression: expr.replaceAll('$__rate_interval', '1m').replaceAll('$job', '.*'),
    })),
  )
}
