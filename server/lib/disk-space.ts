import { stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { FileStoreError } from './files/files.ts'

/** How much of a disk stays free: a number of bytes, or a fraction of the disk. */
export type Reserve = { bytes: number } | { fraction: number }

export type Disk = { folder: string; totalBytes: number; freeBytes: number; reserveBytes: number }

type Log = Record<'info' | 'warn', (details: object, message: string) => void>
type Options = {
  dataDir: string
  /** If not set: 1 GB, and less on small disks. */
  reserve: Reserve | undefined
  log: Log
  readFolder?: typeof statfs
}

const defaultReserveBytes = 1e9
const defaultMaxShare = 0.05
const readEveryMs = 1_000

/** What may be on a disk of its own. */
const folderNames = ['.', 'files', 'work', 'postgres']

/**
 * Keeps a reserve of the disks of the data folder for the database. Below the reserve no new work begins. Work that has
 * begun may use half of it, so that it can end.
 */
export class DiskSpace {
  readonly #options: Options
  readonly #closed = new AbortController()
  #disks: Disk[] = []
  #isLow = false
  /** Since the disks were read. A fast client could fill the reserve between two readings. */
  #writtenBytes = 0
  #reading: Promise<void> | undefined

  private constructor(options: Options) {
    this.#options = options
  }

  static async open(options: Options): Promise<DiskSpace> {
    const space = new DiskSpace(options)
    const folders = await findFolders(options.dataDir)
    await space.#read(folders)
    space.#reading = space.#readAgain(folders)
    return space
  }

  /** The state of each disk, as of a second ago. */
  get disks(): readonly Disk[] {
    return this.#disks
  }

  /** Whether a disk has less free space than its reserve. */
  get isLow(): boolean {
    return this.#isLow
  }

  /** For work that begins. Throws below the reserve. */
  checkNew(): void {
    const disk = this.#disks.find((each) => isBelow(each, 1))
    if (disk) throw almostFull(disk)
  }

  /** For work in progress, before it writes this many bytes. Throws below half of the reserve. */
  checkWrite(bytes: number): void {
    const writtenBytes = this.#writtenBytes + bytes
    const disk = this.#disks.find((each) => isBelow(each, 0.5, writtenBytes))
    if (disk) throw almostFull(disk)
    this.#writtenBytes = writtenBytes
  }

  /** Resolves once new work can begin. Rejects when the signal aborts. */
  async whenFree(signal: AbortSignal): Promise<void> {
    while (this.#isLow) await delay(readEveryMs, undefined, { signal })
  }

  async close(): Promise<void> {
    this.#closed.abort()
    await this.#reading
  }

  async #readAgain(folders: string[]): Promise<void> {
    const { signal } = this.#closed
    for (;;) {
      await delay(readEveryMs, undefined, { signal, ref: false }).catch(() => {})
      if (signal.aborted) return
      await this.#read(folders)
    }
  }

  async #read(folders: string[]): Promise<void> {
    const { reserve, log, readFolder = statfs } = this.#options
    this.#writtenBytes = 0
    const found = await Promise.all(
      folders.map(async (folder): Promise<Disk[]> => {
        // A disk that does not answer is reported where it is used.
        const state = await readFolder(folder).catch(() => undefined)
        if (!state) return []
        const totalBytes = state.blocks * state.bsize
        const reserveBytes = reserveOf(totalBytes, reserve)
        return [{ folder, totalBytes, freeBytes: state.bavail * state.bsize, reserveBytes }]
      }),
    )
    this.#disks = found.flat()
    const low = this.#disks.filter((disk) => isBelow(disk, 1))
    const wasLow = this.#isLow
    this.#isLow = low.length > 0
    if (this.#isLow && !wasLow)
      log.warn({ disks: low }, 'the disk is almost full: uploads, recordings and encodings pause')
    if (wasLow && !this.#isLow) log.info({}, 'there is enough disk space again: paused work resumes')
  }
}

const almostFull = ({ folder }: Disk) =>
  new FileStoreError('full', new Error(`the disk of ${folder} is almost full`))

const isBelow = ({ freeBytes, reserveBytes }: Disk, fraction: number, writtenBytes = 0) =>
  reserveBytes > 0 && freeBytes - writtenBytes < reserveBytes * fraction

function reserveOf(totalBytes: number, reserve: Reserve | undefined): number {
  if (!reserve) return Math.min(defaultReserveBytes, totalBytes * defaultMaxShare)
  return 'bytes' in reserve ? reserve.bytes : totalBytes * reserve.fraction
}

/** One folder for each disk. */
async function findFolders(dataDir: string): Promise<string[]> {
  const folders = new Map<number, string>()
  for (const name of folderNames) {
    const folder = join(dataDir, name)
    const found = await stat(folder).catch(() => undefined)
    if (found && !folders.has(found.dev)) folders.set(found.dev, folder)
  }
  return [...folders.values()]
}
