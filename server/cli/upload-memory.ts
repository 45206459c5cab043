import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

/** Which video an unfinished upload goes into, so that it is found again after an interruption. */
export type Memory = {
  recall(): Promise<string | undefined>
  keep(videoId: string): Promise<void>
  forget(): Promise<void>
}

/** A convenience: where there is no home, or it cannot be written, every upload begins anew. */
export function memoryOf(identity: unknown[]): Memory {
  const name = createHash('sha256').update(JSON.stringify(identity)).digest('hex')
  const path = () => join(homedir(), '.cache/kinora/uploads', `${name}.json`)
  return {
    recall: () => attempt(async () => readId(await readFile(path(), 'utf8'))),
    async keep(videoId) {
      await attempt(async () => {
        const beside = `${path()}.${randomUUID()}`
        await mkdir(dirname(beside), { recursive: true })
        try {
          await writeFile(beside, JSON.stringify({ videoId }))
          await rename(beside, path())
        } catch (error) {
          await rm(beside, { force: true })
          throw error
        }
      })
    },
    async forget() {
      await attempt(() => rm(path(), { force: true }))
    },
  }
}

const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => work().catch(() => undefined)

function readId(text: string): string | undefined {
  const { videoId } = JSON.parse(text) as { videoId?: unknown }
  return typeof videoId === 'string' && /^\w+$/.test(videoId) ? videoId : undefined
}
