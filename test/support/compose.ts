import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { root } from './harness.ts'

// Reads the compose files of deploy/ as Docker Compose does, as far as they need it.

type Healthcheck = { test: [string, ...string[]]; [limit: string]: unknown }

export type ComposeService = {
  image: string
  command?: string[]
  environment?: Record<string, string>
  healthcheck?: Healthcheck
  volumes?: string[]
  ports?: string[]
  depends_on?: Record<string, { condition: string }>
  deploy?: { replicas: number }
  stop_grace_period?: string
  [other: string]: unknown
}

export type Composition = { services: Record<string, ComposeService>; volumes: Record<string, null> }

/** Both forms with a default: `${NAME:-value}`, and `${NAME:?message}`, which is an error if it is not set. */
function interpolate(text: string, values: Record<string, string>): string {
  return text.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, kind: string, rest: string) => {
    if (values[name]) return values[name]
    if (kind === '-') return rest
    throw new Error(kind === '?' ? rest : `${name} is not set`)
  })
}

/** A later file adds to maps and replaces commands. Other lists would be joined, so it may not have them. */
function merge(base: unknown, other: unknown, path = ''): unknown {
  if (base === undefined || other === undefined) return other ?? base
  if (isMap(base) && isMap(other)) {
    const names = [...new Set([...Object.keys(base), ...Object.keys(other)])]
    return Object.fromEntries(names.map((name) => [name, merge(base[name], other[name], `${path}/${name}`)]))
  }
  if (Array.isArray(other) && !path.endsWith('/command')) throw new Error(`${path} is in both files`)
  return other
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The composition of these files of deploy/ with the values of .env. */
export function readComposition(files: string[], values: Record<string, string>): Composition {
  const parsed = files.map((file) => {
    const text = readFileSync(join(root, 'deploy', file), 'utf8')
    return parse(interpolate(text, values), { merge: true }) as unknown
  })
  const { services, volumes } = parsed.reduce((base, other) => merge(base, other)) as Composition
  const running = Object.entries(services).filter(([, { deploy }]) => deploy?.replicas !== 0)
  // Compose does not wait for a service without containers.
  const names = new Set(running.map(([name]) => name))
  for (const [, service] of running)
    for (const name of Object.keys(service.depends_on ?? {}))
      if (!names.has(name) && services[name]) delete service.depends_on![name]
  return { services: Object.fromEntries(running), volumes }
}

/** The names of the services, each after those it depends on. */
export function startOrder({ services }: Composition): string[] {
  const order: string[] = []
  const add = (name: string, dependents: string[]) => {
    if (dependents.includes(name)) throw new Error(`${name} depends on itself`)
    for (const other of Object.keys(services[name]?.depends_on ?? {})) add(other, [...dependents, name])
    if (!order.includes(name)) order.push(name)
  }
  for (const name of Object.keys(services)) add(name, [])
  return order
}
