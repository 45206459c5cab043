import { randomUUID } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export type Files = {
  /** Fails when nothing could be stored. */
  check(): Promise<void>
}

export async function openDiskFiles(folder: string): Promise<Files> {
  await mkdir(folder, { recursive: true })
  return {
    async check() {
      const probe = join(folder, `.check-${randomUUID()}`)
      try {
        await writeFile(probe, 'x')
      } finally {
        await rm(probe, { force: true })
      }
    },
  }
}
