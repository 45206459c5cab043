import type { Restream, RestreamState } from '../../../api/live-streams.ts'
import { messages } from '../../../messages/messages.ts'
import { Badge, type BadgeVariant } from '../../../ui/badge.tsx'
import { IconButton } from '../../../ui/button.tsx'
import { classNames } from '../../../ui/class-names.ts'
import { formatNumber } from '../../../ui/format.ts'
import { Time } from '../../../ui/time.tsx'
import styles from './restreams-panel.module.css'

const variants: Record<RestreamState['state'], BadgeVariant> = {
  connecting: 'info',
  live: 'good',
  retrying: 'bad',
  stopped: 'plain',
}

type RestreamItemProps = {
  restream: Restream
  /** Undefined without a broadcast, and if it was added during the broadcast. */
  state: RestreamState | undefined
  isOnAir: boolean
  onEdit(): void
  onRemove(): void
}

export function RestreamItem({ restream, state, isOnAir, onEdit, onRemove }: RestreamItemProps) {
  const { name, serverUrl } = restream
  return (
    <li className={styles.item}>
      <div className={styles.text}>
        <div className={styles.title}>
          <strong dir="auto">{name}</strong>
          {state && (
            <Badge variant={variants[state.state]}>{messages.live.restreamStates[state.state]}</Badge>
          )}
        </div>
        <div className={classNames('one-line', styles.hint)} title={serverUrl}>
          {serverUrl}
        </div>
        {state ? (
          <div className={styles.hint}>
            <Time value={state.since} />
            {state.droppedFrames > 0 && `, ${messages.live.framesDropped(formatNumber(state.droppedFrames))}`}
          </div>
        ) : (
          <div className={styles.hint}>
            {isOnAir ? messages.live.restreamNext : messages.live.restreamIdle}
          </div>
        )}
        {state?.reason && <div className={styles.reason}>{state.reason}</div>}
      </div>
      <div className={styles.buttons}>
        <IconButton
          icon="edit"
          label={messages.live.named(messages.live.editRestream, name)}
          onClick={onEdit}
        />
        <IconButton
          icon="trash"
          label={messages.live.named(messages.live.removeRestream, name)}
          onClick={onRemove}
        />
      </div>
    </li>
  )
}
