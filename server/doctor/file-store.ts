import { randomBytes } from 'node:crypto'
import { chown, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { FileStoreError, type Files } from '../lib/files/files.ts'
import { newOwnedName } from '../lib/owner.ts'
import { type Check, type DoctorContext, type Finding, failed, firstLine, ok } from './check.ts'
import { judgeClock } from './database.ts'
import { fetchHead } from './http.ts'

const probe = randomBytes(64 * 1024)

export const storeCheck: Check = {
  name: 'file store',
  ifStuck: 'The store does not respond: check it, and the network between it and this machine.',
  async run(context) {
    const { config, files } = context
    const what = config.s3
      ? `The bucket ${config.s3.bucket} at ${new URL(config.s3.endpoint).host}`
      : 'The disk store'
    if (!files) return ok('The folder for files does not exist yet. The first start creates it.')
    // The sweep removes what a killed process leaves under such a name.
    const key = `spool/${newOwnedName()}`
    let step = 'opened'
    try {
      const store = await files()
      try {
        step = 'written'
        await store.put(key, probe)
        if (!config.s3) await handOver(config.dataDir)
        step = 'read'
        await expectBytes(store, key, undefined)
        step = 'read in parts'
        await expectBytes(store, key, { from: 1_000, to: 1_999 })
        step = 'listed'
        const keys = await store.listNames('spool', '', 1_000)
        // The first names of a folder with many others need not include it.
        if (keys.length < 1_000 && !keys.includes(key.slice('spool/'.length)))
          throw new Error('the list of files does not contain a file that was just written')
        step = 'deleted'
        await store.remove(key)
        if (await store.stat(key)) throw new Error('a deleted file still exists')
      } finally {
        await store.remove(key).catch(() => {})
        await store.removeEmptyFolder('spool').catch(() => {})
        await store.close()
      }
      return ok(`${what} can be written, read, read in parts, listed and deleted.`)
    } catch (error) {
      return failed(`${what} cannot be ${step}: ${firstLine(error)}.`, adviceFor(context, error))
    }
  },
}

/** If root examines the store of another user, that user must be able to use the folder. */
async function handOver(dataDir: string): Promise<void> {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = await stat(join(dataDir, 'files'))
  await chown(join(dataDir, 'files', 'spool'), uid, gid)
}

async function expectBytes(store: Files, key: string, range: { from: number; to: number } | undefined) {
  const chunks: Buffer[] = []
  for await (const chunk of await store.read(key, range)) chunks.push(chunk)
  const expected = range ? probe.subarray(range.from, range.to + 1) : probe
  if (!Buffer.concat(chunks).equals(expected)) throw new Error('other bytes were read than were written')
}

function adviceFor({ config }: DoctorContext, error: unknown): string {
  const kind = error instanceof FileStoreError ? error.kind : undefined
  if (kind === 'full') return 'Free some space, or enlarge the store.'
  if (!config.s3)
    return 'Check the owner and the permissions of the folder "files" in KINORA_DATA_DIR, and whether its disk is mounted.'
  if (kind === 'refused')
    return 'Check KINORA_S3_BUCKET, KINORA_S3_ACCESS_KEY and KINORA_S3_SECRET_KEY, and allow this key to get, put, list and delete objects.'
  if (kind === 'unreachable') return 'Check KINORA_S3_ENDPOINT, and whether the store runs.'
  return 'Check the settings KINORA_S3_* and the log of the store.'
}

export const storeClockCheck: Check = {
  name: 'clock of the store',
  ifStuck: 'Check KINORA_S3_ENDPOINT.',
  async run({ config, now }, signal): Promise<Finding> {
    if (!config.s3) return ok('The files are on a disk of this machine.')
    const begun = now().getTime()
    const date = await fetchHead(config.s3.endpoint, signal).then(
      ({ headers }) => headers.date,
      () => undefined,
    )
    if (!date) return ok('Not compared: the store does not state its time.')
    const middle = (begun + now().getTime()) / 2
    // The header has whole seconds.
    const offset = middle - (Date.parse(date) + 500)
    return judgeClock(Math.abs(offset) < 1_500 ? 0 : offset, 'that of the store')
  },
}
