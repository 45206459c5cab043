import { randomBytes } from 'node:crypto'
import { open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ifThere } from './disk-io.ts'
import { FileMissing } from './files.ts'

export const noEnd = Number.MAX_SAFE_INTEGER

export type Range = { from: number; to: number; id: string }

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
    const others = (await listClaims(this.#folder)).filter(({ id }) => id !== this.id)
    if (others.some((other) => other.from <= this.from && other.to > this.from)) return this.from
    const next = Math.min(...others.map(({ from }) => from).filter((from) => from > this.from))
    if (next < to) await this.#set(next)
    return Math.min(next, to)
  }

  /** The new name is there before the old one goes: what was written is never without a claim. */
  async #set(to: number): Promise<void> {
    if (to === this.#to) return
    await makeClaim(this.#folder, { from: this.from, to, id: this.id })
    await this.release()
    this.#to = to
  }

  async end(to: number): Promise<void> {
    await this.#set(to)
  }

  async release(): Promise<void> {
    if (this.#to !== undefined)
      await removeClaim(this.#folder, { from: this.from, to: this.#to, id: this.id })
    this.#to = undefined
  }
}

const nameOf = ({ from, to, id }: Range) => `${from}-${to}-${id}`

export async function makeClaim(folder: string, range: Range): Promise<void> {
  const file = await ifThere(open(join(folder, nameOf(range)), 'w'))
  if (!file) throw new FileMissing('the upload is gone')
  await file.close()
}

export const removeClaim = (folder: string, range: Range) => rm(join(folder, nameOf(range)), { force: true })

export async function listClaims(folder: string): Promise<Range[]> {
  const names = (await ifThere(readdir(folder))) ?? []
  return names.map((name) => {
    const [from, to, id] = name.split('-')
    return { from: Number(from), to: Number(to), id: id ?? '' }
  })
}
