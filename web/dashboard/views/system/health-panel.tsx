import type { System } from '../../api/system.ts'
import { texts } from '../../texts/texts.ts'
import { Badge } from '../../ui/badge.tsx'
import { formatPeriod } from '../../ui/format.ts'
import { Panel } from '../../ui/panel.tsx'
import styles from './system-view.module.css'

export function HealthPanel({ system }: { system: System }) {
  const { health, version, node, ffmpeg, postgres, uptimeSeconds, roles } = system
  const checks = [
    [texts.system.database, health.database],
    [texts.system.files, health.files],
  ] as const
  const facts = [
    [texts.product, version],
    ['Node', node.replace(/^v/, '')],
    ['ffmpeg', ffmpeg ?? texts.system.missing],
    ['Postgres', postgres],
    [texts.system.roles, roles.join(', ')],
    [texts.system.uptime, formatPeriod(uptimeSeconds)],
  ] as const
  return (
    <Panel title={texts.system.health}>
      <dl className={styles.facts}>
        {checks.map(([label, state]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <Badge look={state === 'reachable' ? 'good' : 'bad'}>{texts.system[state]}</Badge>
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
