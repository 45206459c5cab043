import type { ServiceProcess } from '../../api/system.ts'
import { messages } from '../../messages/messages.ts'
import { Badge } from '../../ui/badge.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Panel } from '../../ui/panel.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'

const words = messages.system.processes

/** The processes of all machines. */
export function ProcessesPanel({ processes }: { processes: ServiceProcess[] }) {
  return (
    <Panel title={words.title}>
      <Table
        label={words.title}
        rows={processes}
        keyOf={({ id }) => id}
        columns={[
          {
            label: words.host,
            cell: ({ host, pid }) => (
              <span>
                {host} <span className="muted">{pid}</span>
              </span>
            ),
          },
          { label: words.roles, cell: ({ roles }) => roles.join(', ') },
          { label: words.slots, isNumber: true, cell: ({ encodeSlots }) => formatNumber(encodeSlots) },
          { label: words.version, cell: ({ version }) => version },
          { label: words.started, cell: ({ startedAt }) => <Time value={startedAt} /> },
          {
            label: words.seen,
            cell: ({ isAlive, seenAt }) =>
              isAlive ? (
                <Badge variant="good">{words.alive}</Badge>
              ) : (
                <span>
                  <Badge variant="warn">{words.gone}</Badge> <Time value={seenAt} />
                </span>
              ),
          },
        ]}
      />
    </Panel>
  )
}
