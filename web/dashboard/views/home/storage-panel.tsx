import { Link } from '@tanstack/react-router'
import type { StorageKind, System } from '../../api/system.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { formatBytes } from '../../ui/format.ts'
import { Panel } from '../../ui/panel.tsx'
import styles from './storage-panel.module.css'

const maxKinds = 4

/** The largest kinds of files, of both environments and all qualities. */
function largestKinds(storage: System['storage']): [StorageKind, number][] {
  const bytes = new Map<StorageKind, number>()
  for (const each of storage ?? []) bytes.set(each.kind, (bytes.get(each.kind) ?? 0) + each.bytes)
  return [...bytes].sort(([, one], [, other]) => other - one).slice(0, maxKinds)
}

/** How much the files of both environments take, and how much is free. */
export function StoragePanel({ system: { storage, disk } }: { system: System }) {
  const environment = useEnvironment()
  const used = storage?.reduce((sum, { bytes }) => sum + bytes, 0)
  const share = (bytes: number) => ({ width: `${disk ? (100 * bytes) / disk.totalBytes : 0}%` })
  return (
    <Panel
      title={messages.home.storage}
      actions={
        <Link to="/$environment/system" params={{ environment }}>
          {messages.system.title}
        </Link>
      }
    >
      <div className={styles.used}>
        <span className={styles.value}>{used === undefined ? '–' : formatBytes(used)}</span>
        <span className="secondary">
          {used === undefined ? messages.system.countingStorage : messages.home.used}
        </span>
      </div>
      {disk && (
        <div className={styles.bar} aria-hidden="true">
          <span className={styles.own} style={share(used ?? 0)} />
          <span className={styles.other} style={share(disk.totalBytes - disk.freeBytes - (used ?? 0))} />
        </div>
      )}
      <p className="secondary">
        {disk
          ? messages.home.free(formatBytes(disk.freeBytes), formatBytes(disk.totalBytes))
          : messages.system.s3}
      </p>
      {used !== undefined && used > 0 && (
        <dl className={styles.kinds}>
          {largestKinds(storage).map(([kind, bytes]) => (
            <div key={kind} className={styles.kind}>
              <dt>{messages.system.storageKinds[kind]}</dt>
              <dd>{formatBytes(bytes)}</dd>
            </div>
          ))}
        </dl>
      )}
    </Panel>
  )
}
