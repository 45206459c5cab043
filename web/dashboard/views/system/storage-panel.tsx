import { useSession } from '../../api/session.ts'
import type { StorageKind, Stored, System } from '../../api/system.ts'
import { messages } from '../../messages/messages.ts'
import { formatBytes, formatNumber, formatPeriod } from '../../ui/format.ts'
import { Panel } from '../../ui/panel.tsx'
import { DeletedLink } from './deleted-link.tsx'
import { DiskPaused } from './disk-paused.tsx'
import styles from './storage-panel.module.css'

const lowShare = 0.1

type KindTotal = Pick<Stored, 'kind' | 'files' | 'bytes'>

/** Both environments and all qualities, because the disk is the same. */
function sumByKind(stored: Stored[]): KindTotal[] {
  const kinds = Object.keys(messages.system.storageKinds) as StorageKind[]
  return kinds.flatMap((kind) => {
    const found = stored.filter((each) => each.kind === kind)
    if (found.length === 0) return []
    const sum = (key: 'files' | 'bytes') => found.reduce((total, each) => total + each[key], 0)
    return [{ kind, files: sum('files'), bytes: sum('bytes') }]
  })
}

/** The bar compares the kinds. The list has the numbers. */
export function StoragePanel({ system: { storage: stored, disk, isDiskLow } }: { system: System }) {
  const storage = sumByKind(stored ?? [])
  const total = storage.reduce((sum, { bytes }) => sum + bytes, 0)
  const { restoreHours } = useSession()
  const deletedLabel =
    restoreHours > 0
      ? messages.system.deletedVideos(formatPeriod(restoreHours * 3_600))
      : messages.system.storageKinds.discarded
  const isLow = disk !== null && disk.freeBytes < disk.totalBytes * lowShare
  return (
    <Panel title={messages.system.storage} actions={stored && <span>{formatBytes(total)}</span>}>
      <div className={styles.bar} aria-hidden="true">
        {total > 0 &&
          storage.map(({ kind, bytes }) => (
            <span
              key={kind}
              className={styles[kind satisfies StorageKind]}
              style={{ width: `${(100 * bytes) / total}%` }}
            />
          ))}
      </div>
      {storage.length === 0 && (
        <p className="muted">{stored ? messages.system.nothingStored : messages.system.countingStorage}</p>
      )}
      <table className={styles.table} hidden={storage.length === 0}>
        <thead className="visually-hidden">
          <tr>
            <th scope="col">{messages.system.kind}</th>
            <th scope="col">{messages.system.fileCount}</th>
            <th scope="col">{messages.system.size}</th>
          </tr>
        </thead>
        <tbody>
          {storage.map(({ kind, files, bytes }) => (
            <tr key={kind}>
              <th scope="row">
                <span className={`${styles.dot} ${styles[kind]}`} aria-hidden="true" />
                {kind === 'discarded' ? (
                  <DeletedLink deleted={stored?.filter((each) => each.kind === kind) ?? []}>
                    {deletedLabel}
                  </DeletedLink>
                ) : (
                  messages.system.storageKinds[kind]
                )}
              </th>
              <td>{formatNumber(files)}</td>
              <td>{formatBytes(bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className={isLow ? styles.low : 'muted'}>
        {disk
          ? messages.system.disk(formatBytes(disk.freeBytes), formatBytes(disk.totalBytes))
          : messages.system.s3}
        {isLow && !isDiskLow && ` ${messages.system.diskLow}`}
      </p>
      {isDiskLow && <DiskPaused storage={stored} />}
    </Panel>
  )
}
