import { backUp } from '../backups/back-up.ts'
import type { Destination } from '../backups/destination/destination.ts'
import { openDestination } from '../backups/destination/open.ts'
import { BackupError } from '../backups/errors.ts'
import { listBackups, type Manifest, readManifest } from '../backups/manifest.ts'
import { verifyBackup } from '../backups/verify.ts'
import { openFiles } from '../lib/files/open.ts'
import { readConfig } from '../read-config.ts'
import type { Output } from './command.ts'
import { formatBytes, showProgress } from './progress.ts'
import { withDatabase, withSentences } from './with-database.ts'

type BackUpOptions = { keep: number | undefined; files: boolean }

export const backUpTo = (name: string, { keep, files: wantsFiles }: BackUpOptions, output: Output) =>
  withDatabase(async ({ config, db, pool }) => {
    const files = await openFiles(config)
    const destination = await openDestination(config, name, { isNew: true }).catch(async (error) => {
      await files.close()
      throw error
    })
    const shown = showProgress('copied')
    try {
      await files.check()
      const includesFiles = wantsFiles || !config.s3
      const deps = { config, db, pool, files, now: () => new Date() }
      let counts = { files: 0, bytes: 0, copiedFiles: 0, copiedBytes: 0 }
      const manifest = await backUp(deps, {
        destination,
        includesFiles,
        keep,
        onProgress(progress) {
          counts = progress
          shown.update(progress)
        },
      })
      shown.end()
      const { copiedFiles, copiedBytes } = counts
      const text = includesFiles
        ? `Backup ${manifest.id} in ${destination.name}: ${describe(manifest)}. ${copiedFiles} files (${formatBytes(copiedBytes)}) were copied now.`
        : `Backup ${manifest.id} in ${destination.name}: the database. The files stay in the bucket ${config.s3!.bucket}: docs/backups.md tells how to keep it, and --files includes them.`
      output.print(text, {
        backup: manifest.id,
        destination: destination.name,
        files: manifest.files?.count ?? null,
        bytes: manifest.files?.bytes ?? null,
        copiedFiles,
        copiedBytes,
      })
    } finally {
      shown.end()
      await destination.close()
      await files.close()
    }
  })

export const verify = (name: string, id: string | undefined, output: Output) =>
  withExisting(name, async (destination) => {
    const manifest = await readManifest(destination, id)
    await checkBackup(destination, manifest, output)
    const [files, bytes] = [manifest.files?.count ?? 0, manifest.files?.bytes ?? 0]
    output.print(`The backup ${manifest.id} is complete and intact: ${describe(manifest)}.`, {
      backup: manifest.id,
      files,
      bytes,
      problems: 0,
    })
  })

/** Prints what is damaged or missing, and rejects if anything is. */
export async function checkBackup(
  destination: Destination,
  manifest: Manifest,
  output: Output,
): Promise<void> {
  const shown = showProgress('verified')
  const problems = await verifyBackup(destination, manifest, shown.update).finally(shown.end)
  for (const problem of problems) output.print(`${problem.kind.padEnd(7)}  ${problem.path}`, problem)
  if (problems.length > 0)
    throw new BackupError(`The backup ${manifest.id} has ${problems.length} damaged or missing files.`)
}

export const list = (name: string, output: Output) =>
  withExisting(name, async (destination) => {
    let isDamaged = false
    for (const id of await listBackups(destination)) {
      const manifest = await readManifest(destination, id).catch((error) => {
        if (!(error instanceof BackupError)) throw error
        output.print(`${id}  damaged`, { id, isDamaged: true })
        isDamaged = true
      })
      if (!manifest) continue
      const { version, startedAt, finishedAt, files } = manifest
      const [count, bytes] = [files?.count ?? null, files?.bytes ?? null]
      output.print(`${id}  Kinora ${version}, ${describe(manifest)}`, {
        id,
        version,
        startedAt,
        finishedAt,
        files: count,
        bytes,
      })
    }
    if (isDamaged) throw new BackupError(`${destination.name} has damaged backups.`)
  })

export async function withExisting(
  name: string,
  work: (destination: Destination) => Promise<void>,
): Promise<void> {
  await withSentences(async () => {
    const destination = await openDestination(readConfig(process.env), name, { isNew: false })
    try {
      await work(destination)
    } finally {
      await destination.close()
    }
  })
}

export const describe = ({ files }: Manifest) =>
  files ? `the database and ${files.count} files (${formatBytes(files.bytes)})` : 'the database only'
