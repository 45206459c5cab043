import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { analytics } from './scale/analytics.ts'
import { compare, type Operation } from './scale/compare.ts'
import { fill } from './scale/fill.ts'
import { playback } from './scale/playback.ts'
import { printRowSizes } from './scale/row-sizes.ts'
import { openSide, type Side } from './scale/side.ts'
import { emptySizes, readSizes, type Sizes } from './scale/sizes.ts'
import { upkeep } from './scale/upkeep.ts'
import { lists, single } from './scale/videos.ts'
import { work } from './scale/work.ts'
import { Resources, withTemporaryFolder } from './servers.ts'
import { printTable, type Row } from './table.ts'

const parts: Record<string, { title: string; operations: Operation[] }> = {
  lists: { title: 'Lists of videos', operations: lists },
  videos: { title: 'Single videos', operations: single },
  playback: { title: 'Playback', operations: playback },
  work: { title: 'Work and webhooks', operations: work },
  analytics: { title: 'Analytics', operations: analytics },
  upkeep: { title: 'Dashboard and upkeep', operations: upkeep },
}

/**
 * Compares each operation on a full database with the same operation on an almost empty one. With `--keep FOLDER` the
 * databases stay in that folder, and another run with the same folder does not fill them again.
 */
export async function scale(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    options: { keep: { type: 'string' } },
    allowPositionals: true,
  })
  const selected = positionals.filter((each) => Object.hasOwn(parts, each))
  const sizes = readSizes(positionals.filter((each) => !selected.includes(each)))
  const run = (folder: string) => measure(folder, sizes, selected.length > 0 ? selected : Object.keys(parts))
  if (values.keep === undefined) return withTemporaryFolder(run)
  const folder = resolve(values.keep)
  await mkdir(folder, { recursive: true })
  await run(folder)
}

async function measure(folder: string, sizes: Sizes, selected: string[]): Promise<void> {
  await using resources = new Resources()
  const empty = await openSide(resources, { folder: join(folder, 'empty'), sizes: emptySizes }, fill)
  console.log(`The full database in ${folder}: ${JSON.stringify(sizes)}`)
  const full = await openSide(resources, { folder: join(folder, 'full'), sizes }, fill)
  await printRowSizes(full.client)
  for (const { title, operations } of selected.map((part) => parts[part]!)) {
    const rows = await compareAll(empty, full, operations)
    printTable(`${title}: a full database compared with an empty one`, rows)
  }
}

async function compareAll(empty: Side, full: Side, operations: Operation[]): Promise<Row[]> {
  const rows: Row[] = []
  for (const operation of operations) rows.push(await compare(empty, full, operation))
  return rows
}
