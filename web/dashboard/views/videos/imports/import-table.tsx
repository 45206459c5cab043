import { Link } from '@tanstack/react-router'
import type { Import } from '../../../api/imports.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { importMessages as t } from '../../../messages/imports.ts'
import { Table } from '../../../ui/table.tsx'
import { Time } from '../../../ui/time.tsx'
import { RunState } from './run-state.tsx'
import { countObjects } from './totals.ts'

/** Newest first. */
export function ImportTable({ imports }: { imports: Import[] }) {
  const environment = useEnvironment()
  return (
    <Table
      isMain
      label={t.past}
      rows={imports}
      keyOf={({ importId }) => importId}
      columns={[
        {
          label: t.service,
          cell: ({ importId, service, account }) => (
            <div>
              <Link to="/$environment/videos/imports/$importId" params={{ environment, importId }}>
                {t.services[service]}
              </Link>
              <bdi className="secondary one-line" title={account}>
                {account}
              </bdi>
            </div>
          ),
        },
        { label: t.state, cell: (run) => <RunState run={run} /> },
        {
          label: t.progress,
          isNumber: true,
          cell: ({ items }) => {
            const { ended, total } = countObjects(items)
            return (
              <>
                {t.ended(ended, total)}
                {items.failed > 0 && <div className="error-text">{t.endedHint(items.failed)}</div>}
              </>
            )
          },
        },
        { label: t.created, cell: ({ createdAt }) => <Time value={createdAt} /> },
      ]}
    />
  )
}
