import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { codeOf, ifThere } from './disk-io.ts'
import { FileMissing } from './files.ts'

export const noEnd = Number.MAX_SAFE_INTEGER

export type Range = { from: number; to: number; id: string }

/**
 * Claims lie in one folder for each region of the file, so that whoever writes a piece reads only those near it: pieces
 * that have claims are larger than 256 KiB, so that a region has a thousand at most. A claim that reaches over several
 * regions has a part of it in each.
 */
const regionBytes = 256 * 1024 * 1024

/**
 * Which bytes of an upload's one file belong to which piece. Pieces come from several processes, and where they say
 * they belong may be wrong, so no writer may touch a byte that another one might. A claim is an empty file whose name
 * is the range. Whoever wants a range first makes its claim visible, then looks at the others': of two that overlap
 * at least one sees the other and gives way. All of it is in the names, as these appear at once and are read in one go.
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

  /** Up to where the claim holds after all: the end that was asked for, or less, or `from` for nothing. */
  async reach(to: number): Promise<number> {
    await this.#set(to)
    const others = (await listClaims(this.#folder, this.from, to)).filter(({ id }) => id !== this.id)
    if (others.some((other) => other.from <= this.from && other.to > this.from)) return this.from
    const next = Math.min(...others.map(({ from }) => from).filter((from) => from > this.from))
    if (next < to) await this.#set(next)
    return Math.min(next, to)
  }

  /** New names are there before the old ones go: what was written is never without a claim. */
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

  async end(to: number): Promise<void> {
    await this.#set(to)
  }

  /** The folders that must be synced for the claim to last. */
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

/** One file in each region; where there is no end, one that everybody reads. */
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
  const file = (await ifThere(open(path, 'w'))) ?? (await makeInRegion(path))
  await file.close()
}

/** The first claim of a region makes its folder, unless the upload is gone. */
async function makeInRegion(path: string) {
  const folder = dirname(path)
  if (isRegion(basename(folder))) {
    await mkdir(folder).catch((error) => {
      if (codeOf(error) !== 'EEXIST' && codeOf(error) !== 'ENOENT') throw error
    })
  }
  const file = await ifThere(open(path, 'w'))
  if (!file) throw new FileMissing('the upload is gone')
  return file
}

export async function makeClaim(folder: string, range: Range): Promise<void> {
  for (const path of pathsOf(folder, range)) await makeFile(path)
}

export async function removeClaim(folder: string, range: Range): Promise<void> {
  // Uploads that began before there were regions have all claims in one folder.
  for (const path of [join(folder, nameOf(range)), ...pathsOf(folder, range)]) await rm(path, { force: true })
}

/** The claims of the regions that the range touches, cut to those; all claims by default. */
export async function listClaims(folder: string, from = 0, to = noEnd): Promise<Range[]> {
  const names = (await ifThere(readdir(folder))) ?? []
  const touched = (region: number) => region * regionBytes < to && (region + 1) * regionBytes > from
  const regions = names.filter((name) => isRegion(name) && touched(Number(name)))
  const lists = await Promise.all(
    regions.map(async (region) => (await ifThere(readdir(join(folder, region)))) ?? []),
  )
  return [...names.filter((name) => name.includes('-')), ...lists.flat()].map((name) => {
    const [from, to, id] = name.split('-')
    return { from: Number(from), to: Number(to), id: id ?? '' }
  })
}
