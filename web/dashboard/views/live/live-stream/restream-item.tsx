import type { Restream, RestreamState } from '../../../api/live-streams.ts'
import { texts } from '../../../texts/texts.ts'
import { Badge, type BadgeLook } from '../../../ui/badge.tsx'
import { IconButton } from '../../../ui/button.tsx'
import { formatNumber } from '../../../ui/format.ts'
import { Time } from '../../../ui/time.tsx'
import styles from './restreams-panel.module.css'

const looks: Record<RestreamState['state'], BadgeLook> = {
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
          {state && <Badge look={looks[state.state]}>{texts.live.restreamStates[state.state]}</Badge>}
        </div>
        <div className={styles.hint}>{serverUrl}</div>
        {state ? (
          <div className={styles.hint}>
            <Time value={state.since} />
            {state.droppedFrames > 0 && `, ${texts.live.framesDropped(formatNumber(state.droppedFrames))}`}
          </div>
        ) : (
          <div className={styles.hint}>{isOnAir ? texts.live.restreamNext : texts.live.restreamIdle}</div>
        )}
        {state?.reason && <div className={styles.reason}>{state.reason}</div>}
      </div>
      <div className={styles.buttons}>
        <IconButton icon="edit" label={texts.live.named(texts.live.editRestream, name)} onClick={onEdit} />
        <IconButton
          icon="trash"
          label={texts.live.named(texts.live.removeRestream, name)}
          onClick={onRemove}
        />
      </div>
    </li>
  )
}
