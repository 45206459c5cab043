import type { System } from '../../api/system.ts'
import { messages } from '../../messages/messages.ts'
import { Badge } from '../../ui/badge.tsx'
import { formatBytes, formatDateTime } from '../../ui/format.ts'
import { Panel } from '../../ui/panel.tsx'
import { ErrorText } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import styles from './system-view.module.css'

const words = messages.system.safety

/** The last backup, and the certificate. */
export function SafetyPanel({ system: { backup, certificate } }: { system: System }) {
  const { last, failure } = backup
  const problem = failure?.reason ?? certificate.lastError
  return (
    <Panel title={words.title}>
      <dl className={styles.facts}>
        <div>
          <dt>{words.lastBackup}</dt>
          <dd>{last ? <Time value={last.at} /> : <Badge variant="warn">{words.noBackup}</Badge>}</dd>
        </div>
        {last && (
          <div>
            <dt>{words.destination}</dt>
            <dd>{last.destination}</dd>
          </div>
        )}
        {last && last.bytes !== null && (
          <div>
            <dt>{words.backupSize}</dt>
            <dd>{formatBytes(last.bytes)}</dd>
          </div>
        )}
        <div>
          <dt>{words.certificate}</dt>
          <dd>{words.sources[certificate.source]}</dd>
        </div>
        {certificate.domains.length > 0 && (
          <div>
            <dt>{words.domains}</dt>
            <dd>{certificate.domains.join(', ')}</dd>
          </div>
        )}
        {certificate.notAfter && (
          <div>
            <dt>{words.validUntil}</dt>
            <dd>{formatDateTime(certificate.notAfter)}</dd>
          </div>
        )}
        {certificate.renewAt && (
          <div>
            <dt>{words.renewedAt}</dt>
            <dd>{formatDateTime(certificate.renewAt)}</dd>
          </div>
        )}
      </dl>
      {problem && <ErrorText error={new Error(problem)} />}
    </Panel>
  )
}
