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

const parts: Record<string, Operation[]> = {
  'Lists of videos': lists,
  'Single videos': single,
  Playback: playback,
  'Work and webhooks': work,
  Analytics: analytics,
  'Dashboard and upkeep': upkeep,
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
  const sizes = readSizes(positionals)
  if (values.keep === undefined) return withTemporaryFolder((folder) => measure(folder, sizes))
  const folder = resolve(values.keep)
  await mkdir(folder, { recursive: true })
  await measure(folder, sizes)
}

async function measure(folder: string, sizes: Sizes): Promise<void> {
  await using resources = new Resources()
  const empty = await openSide(resources, { folder: join(folder, 'empty'), sizes: emptySizes }, fill)
  console.log(`Filling a database in ${folder}: ${JSON.stringify(sizes)}`)
  const full = await openSide(resources, { folder: join(folder, 'full'), sizes }, fill)
  await printRowSizes(full.client)
  for (const [title, operations] of Object.entries(parts)) {
    const rows = await compareAll(empty, full, operations)
    printTable(`${title}: a full database compared with an empty one`, rows)
  }
}

async function compareAll(empty: Side, full: Side, operations: Operation[]): Promise<Row[]> {
  const rows: Row[] = []
  for (const operation of operations) rows.push(await compare(empty, full, operation))
  return rows
}
