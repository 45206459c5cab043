import type { System } from '../../api/system.ts'
import { messages } from '../../messages/messages.ts'
import { formatNumber, formatSpan } from '../../ui/format.ts'
import { Panel } from '../../ui/panel.tsx'
import { Progress } from '../../ui/progress.tsx'
import styles from './system-view.module.css'

/** How busy the encoders of all processes are. */
export function EncodingPanel({ system: { encodeSlots, queue } }: { system: System }) {
  const { total, busy } = encodeSlots
  const isIdle = queue.waiting + queue.running === 0
  return (
    <Panel title={messages.system.encoding}>
      {total > 0 && <Progress fraction={busy / total} label={messages.system.slots} />}
      <dl className={styles.facts}>
        <div>
          <dt>{messages.system.slots}</dt>
          <dd>
            {total > 0
              ? messages.system.slotsOf(formatNumber(busy), formatNumber(total))
              : messages.system.noSlots}
          </dd>
        </div>
        <div>
          <dt>{messages.system.running}</dt>
          <dd>{messages.system.chunks(formatNumber(queue.running))}</dd>
        </div>
        <div>
          <dt>{messages.system.waiting}</dt>
          <dd>{messages.system.chunks(formatNumber(queue.waiting))}</dd>
        </div>
        <div>
          <dt>{messages.system.estimate}</dt>
          <dd>
            {isIdle
              ? messages.system.idle
              : queue.estimatedSeconds === null
                ? messages.system.noEstimate
                : formatSpan(queue.estimatedSeconds)}
          </dd>
        </div>
      </dl>
    </Panel>
  )
}
