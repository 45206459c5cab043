import type { System } from '../../api/system.ts'
import { messages } from '../../messages/messages.ts'
import { Badge } from '../../ui/badge.tsx'
import { formatPeriod } from '../../ui/format.ts'
import { Panel } from '../../ui/panel.tsx'
import styles from './system-view.module.css'

export function HealthPanel({ system }: { system: System }) {
  const { health, version, node, ffmpeg, postgres, uptimeSeconds, roles } = system
  const checks = [
    [messages.system.database, health.database],
    [messages.system.files, health.files],
  ] as const
  const facts = [
    [messages.product, version],
    ['Node', node.replace(/^v/, '')],
    ['ffmpeg', ffmpeg ?? messages.system.missing],
    ['Postgres', postgres],
    [messages.system.roles, roles.join(', ')],
    [messages.system.uptime, formatPeriod(uptimeSeconds)],
  ] as const
  return (
    <Panel title={messages.system.health}>
      <dl className={styles.facts}>
        {checks.map(([label, state]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <Badge variant={state === 'reachable' ? 'good' : 'bad'}>{messages.system[state]}</Badge>
            </dd>
          </div>
        ))}
        {facts.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}
