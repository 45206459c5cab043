import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { link, open, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Environment, environments } from '../environments.ts'
import { randomWord } from '../lib/ids.ts'

/**
 * A key for each environment, with which commands on this machine call the service. Whoever can read the data folder could
 * create a key in its database as well, so reading this file proves as much. The keys are not in the database: they are
 * valid for processes with this data folder, and the same after a restart.
 */
export type LocalKeys = Record<Environment, string>

const pathOf = (dataDir: string) => join(dataDir, 'local-keys.json')
const maxBytes = 4096

/** 256 bits, as those of API keys. */
const keyLength = 43

/** Only the owner of the file can read it. */
const fileMode = 0o600

/** The keys of the data folder. Creates them unless there are any. */
export async function provideLocalKeys(dataDir: string): Promise<LocalKeys> {
  const path = pathOf(dataDir)
  const found = await readLocalKeys(dataDir)
  if (found) return found
  const keys = { production: randomWord(keyLength), sandbox: randomWord(keyLength) }
  const temporary = `${path}.${randomUUID()}`
  await writeFile(temporary, JSON.stringify(keys), { mode: fileMode, flag: 'wx' })
  try {
    // Unlike a rename, this fails if another process that starts now was faster.
    await link(temporary, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const other = await readLocalKeys(dataDir)
    if (other) return other
    // The file is damaged, or others may have read it.
    await rename(temporary, path)
  } finally {
    await rm(temporary, { force: true })
  }
  return keys
}

/** Undefined if there are none, or if this user cannot read them. */
export async function readLocalKeys(dataDir: string): Promise<LocalKeys | undefined> {
  try {
    await using file = await open(
      pathOf(dataDir),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    )
    const { uid, mode, size } = await file.stat()
    const isPrivate = [0, process.geteuid!()].includes(uid) && (mode & 0o077) === 0
    if (!isPrivate || size > maxBytes) return undefined
    const keys = JSON.parse(await file.readFile('utf8')) as LocalKeys
    return environments.every((each) => keys[each]?.length === keyLength) ? keys : undefined
  } catch {
    return undefined
  }
}
