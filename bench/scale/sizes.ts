/** How many rows a database gets. */
export type Sizes = {
  videos: number
  /** Each has one delivery. */
  events: number
  sessions: number
  /** The days over which the sessions are spread. */
  days: number
  /** Chunks that wait for a worker. */
  chunks: number
  webhooks: number
}

const fullSizes: Sizes = {
  videos: 1_000_000,
  events: 10_000_000,
  sessions: 50_000_000,
  days: 60,
  chunks: 100_000,
  webhooks: 10_000,
}

/** A new service. It has enough rows for each operation to be repeated. */
export const emptySizes: Sizes = {
  videos: 500,
  events: 20_000,
  sessions: 1_000,
  days: 2,
  chunks: 100,
  webhooks: 10,
}

const isSize = (name: string): name is keyof Sizes => Object.hasOwn(fullSizes, name)

/** `0.01` for a hundredth of all sizes except the days, and `sessions=1000000` for one of them. */
export function readSizes(args: string[]): Sizes {
  let sizes = fullSizes
  for (const arg of args) {
    const [name = '', value] = arg.split('=')
    if (value === undefined) sizes = scaled(Number(name))
    else if (isSize(name)) sizes = { ...sizes, [name]: Number(value) }
    else throw new Error(`There is no size "${name}". The sizes are: ${Object.keys(fullSizes).join(', ')}.`)
  }
  for (const [name, size] of Object.entries(sizes))
    if (!Number.isInteger(size) || size < emptySizes[name as keyof Sizes])
      throw new Error(`${name} must be an integer of at least ${emptySizes[name as keyof Sizes]}.`)
  return sizes
}

function scaled(factor: number): Sizes {
  const all = Object.entries(fullSizes) as [keyof Sizes, number][]
  const sizes = all.map(([name, size]) => [name, Math.max(emptySizes[name], Math.round(size * factor))])
  return { ...(Object.fromEntries(sizes) as Sizes), days: fullSizes.days }
}
