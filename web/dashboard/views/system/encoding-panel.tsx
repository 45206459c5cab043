import type { System } from '../../api/system.ts'
import { texts } from '../../texts/texts.ts'
import { formatNumber, formatSpan } from '../../ui/format.ts'
import { Panel } from '../../ui/panel.tsx'
import { Progress } from '../../ui/progress.tsx'
import styles from './system-view.module.css'

/** How busy the encoders of all processes are. */
export function EncodingPanel({ system: { encodeSlots, queue } }: { system: System }) {
  const { total, busy } = encodeSlots
  const isIdle = queue.waiting + queue.running === 0
  return (
    <Panel title={texts.system.encoding}>
      {total > 0 && <Progress share={busy / total} label={texts.system.slots} />}
      <dl className={styles.facts}>
        <div>
          <dt>{texts.system.slots}</dt>
          <dd>
            {total > 0 ? texts.system.slotsOf(formatNumber(busy), formatNumber(total)) : texts.system.noSlots}
          </dd>
        </div>
        <div>
          <dt>{texts.system.running}</dt>
          <dd>{texts.system.chunks(formatNumber(queue.running))}</dd>
        </div>
        <div>
          <dt>{texts.system.waiting}</dt>
          <dd>{texts.system.chunks(formatNumber(queue.waiting))}</dd>
        </div>
        <div>
          <dt>{texts.system.estimate}</dt>
          <dd>
            {isIdle
              ? texts.system.idle
              : queue.estimatedSeconds === null
                ? texts.system.noEstimate
                : formatSpan(queue.estimatedSeconds)}
          </dd>
        </div>
      </dl>
    </Panel>
  )
}
