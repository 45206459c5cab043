import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { codeOf, ifExists } from './disk-io.ts'
import { FileNotFoundError } from './files.ts'

/** The end of a claim on everything from its start. */
export const noEnd = Number.MAX_SAFE_INTEGER

export type Range = { from: number; to: number; id: string }

/**
 * The file is divided into regions, and the claims of each region are in a folder of their own. A writer only reads the
 * claims near its chunk. Chunks with claims are larger than 256 KiB, so a region has at most a thousand. A claim that
 * spans several regions has a file in each.
 */
const regionBytes = 256 * 1024 * 1024

/**
 * The exclusive right to write a byte range of an upload's shared file. Several processes write chunks, and the offsets
 * that clients state can be wrong, so two writers must never touch the same byte. A claim is an empty file whose name is
 * the range. A writer creates its own claim first and reads the other claims afterwards, so at least one of two
 * overlapping writers sees the other and gives way. Names are used instead of contents, because a name appears
 * atomically and one directory listing returns all of them.
 */
export class Claim {
  readonly from: number
  readonly id = randomBytes(12).toString('hex')
  readonly #folder: string
  #to: number | undefined

  constructor(folder: string, from: number) {
    this.#folder = folder
    this.from = from
  }

  /** Extends the claim. Returns its actual end: the requested one, a lower one, or `from` when all bytes are taken. */
  async extendTo(to: number): Promise<number> {
    await this.#set(to)
    const others = (await listClaims(this.#folder, this.from, to)).filter(({ id }) => id !== this.id)
    if (others.some((other) => other.from <= this.from && other.to > this.from)) return this.from
    const next = Math.min(...others.map(({ from }) => from).filter((from) => from > this.from))
    if (next < to) await this.#set(next)
    return Math.min(next, to)
  }

  /** Creates the new files before it removes the old ones, so that written bytes are always covered by a claim. */
  async #set(to: number): Promise<void> {
    if (to === this.#to) return
    const [wanted, before] = [this.#pathsTo(to), this.#pathsTo(this.#to)]
    for (const path of wanted) if (!before.includes(path)) await makeFile(path)
    for (const path of before) if (!wanted.includes(path)) await rm(path, { force: true })
    this.#to = to
  }

  #pathsTo(to: number | undefined): string[] {
    return to === undefined ? [] : pathsOf(this.#folder, { from: this.from, to, id: this.id })
  }

  async endAt(to: number): Promise<void> {
    await this.#set(to)
  }

  /** The folders that must be synced to make the claim durable. */
  folders(): string[] {
    return [...new Set([this.#folder, ...this.#pathsTo(this.#to).map((path) => dirname(path))])]
  }

  async release(): Promise<void> {
    for (const path of this.#pathsTo(this.#to)) await rm(path, { force: true })
    this.#to = undefined
  }
}

const isRegion = (name: string) => /^\d+$/.test(name)

const nameOf = ({ from, to, id }: Range) => `${from}-${to}-${id}`

/** One file in each region. A claim without an end is a single file at the top, which every writer reads. */
function pathsOf(folder: string, range: Range): string[] {
  const { from, to, id } = range
  if (to === noEnd) return [join(folder, nameOf(range))]
  const paths: string[] = []
  for (const region of regionsOf(from, to)) {
    const [start, end] = [region * regionBytes, (region + 1) * regionBytes]
    const part = { from: Math.max(from, start), to: Math.min(to, end), id }
    paths.push(join(folder, String(region), nameOf(part)))
  }
  return paths
}

function regionsOf(from: number, to: number): number[] {
  const first = Math.floor(from / regionBytes)
  return Array.from({ length: Math.ceil(to / regionBytes) - first }, (_, i) => first + i)
}

async function makeFile(path: string): Promise<void> {
  const file = (await ifExists(open(path, 'w'))) ?? (await makeInRegion(path))
  await file.close()
}

/** Creates the folder of a region with its first claim, unless the upload was removed. */
async function makeInRegion(path: string) {
  const folder = dirname(path)
  if (isRegion(basename(folder))) {
    await mkdir(folder).catch((error) => {
      if (codeOf(error) !== 'EEXIST' && codeOf(error) !== 'ENOENT') throw error
    })
  }
  const file = await ifExists(open(path, 'w'))
  if (!file) throw new FileNotFoundError('the upload was removed')
  return file
}

export async function makeClaim(folder: string, range: Range): Promise<void> {
  for (const path of pathsOf(folder, range)) await makeFile(path)
}

export async function removeClaim(folder: string, range: Range): Promise<void> {
  // Uploads of earlier versions have all claims in one folder.
  for (const path of [join(folder, nameOf(range)), ...pathsOf(folder, range)]) await rm(path, { force: true })
}

/** The claims in the regions that overlap with the range, by default in all regions. */
export async function listClaims(folder: string, from = 0, to = noEnd): Promise<Range[]> {
  const names = (await ifExists(readdir(folder))) ?? []
  const overlaps = (region: number) => region * regionBytes < to && (region + 1) * regionBytes > from
  const regions = names.filter((name) => isRegion(name) && overlaps(Number(name)))
  const lists = await Promise.all(
    regions.map(async (region) => (await ifExists(readdir(join(folder, region)))) ?? []),
  )
  return [...names.filter((name) => name.includes('-')), ...lists.flat()].map((name) => {
    const [from, to, id] = name.split('-')
    return { from: Number(from), to: Number(to), id: id ?? '' }
  })
}
