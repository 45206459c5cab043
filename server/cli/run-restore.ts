import { join } from 'node:path'
import { removeTimeouts } from '../backups/database/connect.ts'
import { readManifest } from '../backups/manifest.ts'
import { checkTarget, checkVersion, type RestoreTarget, restore } from '../backups/restore.ts'
import type { Config } from '../config.ts'
import { migrateTo, migrationNames } from '../database.ts'
import { commandName } from '../lib/command-name.ts'
import { prepareDataFolder } from '../lib/data-folder.ts'
import { checkServer, openDb, openPool } from '../lib/db.ts'
import { openFiles } from '../lib/files/open.ts'
import { createLog } from '../lib/log.ts'
import { openEmbeddedPostgres } from '../lib/postgres/open.ts'
import { openQueue } from '../lib/queue.ts'
import { MEDIA_USER } from '../media/sandbox.ts'
import type { Jobs } from '../queues.ts'
import { readConfig } from '../read-config.ts'
import { queues } from '../slices.ts'
import type { Tables } from '../tables.ts'
import type { Output } from './command.ts'
import { showProgress } from './progress.ts'
import { checkBackup, describe, withExisting } from './run-backups.ts'

export const restoreFrom = (name: string, id: string | undefined, output: Output) =>
  withExisting(name, async (source) => {
    const config = readConfig(process.env)
    const manifest = await readManifest(source, id)
    await withTarget(config, async (target) => {
      checkVersion(target, manifest)
      await checkTarget(target, manifest)
      await checkBackup(source, manifest, output)
      const shown = showProgress('restored')
      await restore(target, source, manifest, shown.update).finally(shown.end)
    })
    const start = `${commandName(process.env)} start`
    output.print(`Restored the backup ${manifest.id}: ${describe(manifest)}. Start the service: ${start}`, {
      backup: manifest.id,
      files: manifest.files?.count ?? 0,
      bytes: manifest.files?.bytes ?? 0,
    })
  })

/** Opens the database without its migrations, and the file store as the service does. */
async function withTarget(config: Config, work: (target: RestoreTarget) => Promise<void>): Promise<void> {
  const { databaseUrl, databaseDirectUrl, dataDir } = config
  const log = createLog('silent', false)
  await prepareDataFolder(dataDir, MEDIA_USER, log)
  const embedded = databaseUrl
    ? undefined
    : await openEmbeddedPostgres({ folder: join(dataDir, 'postgres'), log })
  const connection = embedded?.connection ?? databaseDirectUrl ?? databaseUrl!
  const pool = openPool(connection, () => {}, { name: 'kinora restore', onConnect: removeTimeouts })
  const files = await openFiles(config)
  try {
    const db = openDb<Tables>(pool)
    await checkServer(db)
    await files.check()
    await work({
      db,
      pool,
      files,
      migrations: migrationNames,
      migrateTo: (name) => migrateTo(db, name),
      async prepareQueue() {
        const queue = await openQueue<Jobs>({ connection, queues, supervise: false, onError() {} })
        await queue.close()
      },
    })
  } finally {
    await files.close()
    await pool.end()
    await embedded?.close()
  }
}
