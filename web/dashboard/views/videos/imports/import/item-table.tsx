import { Link } from '@tanstack/react-router'
import type { ImportItem, ItemState } from '../../../../api/imports.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { importMessages as t } from '../../../../messages/imports.ts'
import { Badge, type BadgeVariant } from '../../../../ui/badge.tsx'
import { formatBytes } from '../../../../ui/format.ts'
import { Progress } from '../../../../ui/progress.tsx'
import { Table } from '../../../../ui/table.tsx'
import { titleOf } from '../../../../ui/title-of.ts'
import styles from './items-panel.module.css'

const variants: Record<ItemState, BadgeVariant> = {
  waiting: 'plain',
  fetching: 'info',
  encoding: 'info',
  done: 'good',
  failed: 'bad',
  skipped: 'plain',
}

export const ItemTable = ({ items }: { items: ImportItem[] }) => (
  <Table
    isMain
    label={t.items}
    rows={items}
    keyOf={({ kind, sourceId }) => `${kind} ${sourceId}`}
    columns={[
      { label: t.itemTitle, cell: (item) => <Title item={item} /> },
      { label: t.state, cell: (item) => <State item={item} /> },
      {
        label: t.itemSize,
        isNumber: true,
        cell: ({ bytes, receivedBytes }) => {
          const size = bytes ?? receivedBytes
          return size > 0 ? formatBytes(size) : '–'
        },
      },
    ]}
  />
)

function Title({ item: { kind, title, objectId, state } }: { item: ImportItem }) {
  const environment = useEnvironment()
  const isHere = kind === 'video' && objectId !== null && state !== 'waiting'
  return (
    <div className={styles.title}>
      {isHere ? (
        <Link to="/$environment/videos/$videoId" params={{ environment, videoId: objectId }}>
          <bdi>{titleOf(title)}</bdi>
        </Link>
      ) : (
        <bdi>{titleOf(title)}</bdi>
      )}
      {kind !== 'video' && <span className="secondary">{t.kinds[kind]}</span>}
    </div>
  )
}

function State({ item: { state, reason, notes, title, bytes, receivedBytes } }: { item: ImportItem }) {
  return (
    <div className={styles.state}>
      <Badge variant={variants[state]}>{t.itemStates[state]}</Badge>
      {state === 'fetching' && bytes !== null && bytes > 0 && (
        <div className={styles.bar}>
          <Progress label={t.fetching(titleOf(title))} fraction={receivedBytes / bytes} />
        </div>
      )}
      {reason && <span className={state === 'failed' ? 'error-text' : 'secondary'}>{reason}</span>}
      {notes.map((note) => (
        <span key={note} className="secondary">
          {note}
        </span>
      ))}
    </div>
  )
}
