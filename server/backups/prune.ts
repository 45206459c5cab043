import type { Destination } from './destination/destination.ts'
import { EntryGroups, groupOf } from './entries.ts'
import { BackupError } from './errors.ts'
import { isBackupId, listBackups, readManifest, removeBackup } from './manifest.ts'
import { hasIntactList, readFileList } from './verify.ts'

/**
 * Removes all but the newest backups, and the files that only they refer to. The manifest goes first, so that a backup
 * whose files are being removed is none.
 */
export async function removeOldBackups(destination: Destination, keep: number): Promise<void> {
  const ids = await listBackups(destination)
  for (const id of ids.slice(0, -keep)) await removeBackup(destination, id)
  // Of backups that were interrupted.
  for (const id of await destination.listNames('backups'))
    if (isBackupId(id) && !ids.includes(id)) await removeBackup(destination, id)
  await removeUnused(destination, ids.slice(-keep))
}

async function removeUnused(destination: Destination, ids: string[]): Promise<void> {
  const manifests = await Promise.all(ids.map((id) => readManifest(destination, id)))
  for (const manifest of manifests)
    if (manifest.files && !(await hasIntactList(destination, manifest)))
      throw new BackupError(
        `Old files were not removed, because the list of the backup ${manifest.id} is damaged.`,
      )
  for (const folder of ['files/live', 'uploads', 'files/videos', 'files/watermarks']) {
    const lists = manifests.map((manifest) => new EntryGroups(readFileList(destination, manifest)))
    for (const name of await destination.listNames(folder)) {
      const group = groupOf({ path: `${folder}/${name}/` })
      const used = new Set<string>()
      for (const list of lists) for (const path of (await list.take(group)).keys()) used.add(path)
      for await (const { path } of destination.list(`${folder}/${name}`))
        if (!used.has(path)) await destination.remove(path)
    }
    for (const list of lists) await list.close()
  }
}
