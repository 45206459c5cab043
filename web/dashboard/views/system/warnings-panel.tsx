import type { Diagnosis } from '../../api/system.ts'
import { commandName } from '../../app/command-name.ts'
import { messages } from '../../messages/messages.ts'
import { Badge } from '../../ui/badge.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Time } from '../../ui/time.tsx'
import styles from './warnings-panel.module.css'

const words = messages.system.checks

/** What the doctor found about this process, and what to change. */
export function WarningsPanel({ diagnosis }: { diagnosis: Diagnosis | null }) {
  return (
    <Panel
      title={words.title}
      actions={
        diagnosis && (
          <span className="secondary">
            {words.checked} <Time value={diagnosis.checkedAt} />
          </span>
        )
      }
    >
      {!diagnosis ? (
        <p className="muted" role="status">
          {words.running}
        </p>
      ) : diagnosis.warnings.length === 0 ? (
        <p>
          <Badge variant="good">{words.fine}</Badge>
        </p>
      ) : (
        <ul className={styles.list}>
          {diagnosis.warnings.map(({ name, state, message, advice }) => (
            <li key={`${name} ${message}`} className={styles.item}>
              <div className={styles.head}>
                <Badge variant={state === 'failed' ? 'bad' : 'warn'}>{words.states[state]}</Badge>
                <strong>{name}</strong>
              </div>
              <p>{message}</p>
              {advice && <p className="muted">{advice}</p>}
            </li>
          ))}
        </ul>
      )}
      <p className="secondary">
        {words.hint} <code>{commandName()} doctor</code>
      </p>
    </Panel>
  )
}
