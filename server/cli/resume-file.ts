import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

/** Stores the video id of an unfinished upload, so that the next run can resume the upload. */
export type ResumeFile = {
  read(): Promise<string | undefined>
  write(videoId: string): Promise<void>
  remove(): Promise<void>
}

/** Resuming is optional: if the home folder is missing or read-only, every upload starts from the beginning. */
export function resumeFileOf(identity: unknown[]): ResumeFile {
  const name = createHash('sha256').update(JSON.stringify(identity)).digest('hex')
  const path = () => join(homedir(), '.cache/kinora/uploads', `${name}.json`)
  return {
    read: () => ignoreErrors(async () => parseVideoId(await readFile(path(), 'utf8'))),
    async write(videoId) {
      await ignoreErrors(async () => {
        const temporary = `${path()}.${randomUUID()}`
        await mkdir(dirname(temporary), { recursive: true })
        try {
          await writeFile(temporary, JSON.stringify({ videoId }))
          await rename(temporary, path())
        } catch (error) {
          await rm(temporary, { force: true })
          throw error
        }
      })
    },
    async remove() {
      await ignoreErrors(() => rm(path(), { force: true }))
    },
  }
}

const ignoreErrors = async <T>(work: () => Promise<T>): Promise<T | undefined> =>
  work().catch(() => undefined)

function parseVideoId(text: string): string | undefined {
  const { videoId } = JSON.parse(text) as { videoId?: unknown }
  return typeof videoId === 'string' && /^\w+$/.test(videoId) ? videoId : undefined
}
