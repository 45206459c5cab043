import { useState } from 'react'
import type { Broadcast, LiveStream, Restream } from '../../api/live-streams.ts'
import { texts } from '../../texts/texts.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { Panel } from '../../ui/panel.tsx'
import { showToast } from '../../ui/toast-list.ts'
import { RestreamDialog } from './restream-dialog.tsx'
import { RestreamItem } from './restream-item.tsx'
import styles from './restreams-panel.module.css'
import { useSaveLiveStream } from './save-live-stream.ts'

const maxRestreams = 5

/** A restream has no id: it is the one at this place of the list that was shown. */
type Open = { base: LiveStream; at: number; action: 'edit' | 'remove' }

export function RestreamsPanel({ stream, current }: { stream: LiveStream; current: Broadcast | undefined }) {
  const { restreams } = stream
  const [open, setOpen] = useState<Open>()
  const save = useSaveLiveStream(stream.liveStreamId)
  const isFull = restreams.length >= maxRestreams
  const saveList = async (base: LiveStream, next: Restream[]) => {
    await save({ restreams: next }, base)
    showToast(texts.live.restreamSaved)
  }
  const close = () => setOpen(undefined)
  const add = () => setOpen({ base: stream, at: restreams.length, action: 'edit' })
  return (
    <Panel
      title={texts.live.restreams}
      actions={
        <Button icon="plus" disabled={isFull} onClick={add}>
          {texts.live.addRestream}
        </Button>
      }
    >
      <p className={styles.hint}>
        {isFull ? texts.live.restreamsMax(maxRestreams) : texts.live.restreamsIntro}
      </p>
      {restreams.length === 0 ? (
        <p className={styles.hint}>{texts.live.restreamsEmpty}</p>
      ) : (
        <ul className={styles.list}>
          {restreams.map((restream, at) => (
            <RestreamItem
              key={at}
              restream={restream}
              state={stateOf(current, restream, at)}
              isOnAir={current !== undefined}
              onEdit={() => setOpen({ base: stream, at, action: 'edit' })}
              onRemove={() => setOpen({ base: stream, at, action: 'remove' })}
            />
          ))}
        </ul>
      )}
      {open?.action === 'edit' && (
        <RestreamDialog
          at={open.at}
          restream={open.base.restreams[open.at]}
          onClose={close}
          onSave={(next) => saveList(open.base, withItem(open.base.restreams, open.at, next))}
        />
      )}
      <ConfirmDialog
        isOpen={open?.action === 'remove'}
        onClose={close}
        title={texts.live.removeRestreamTitle(open?.base.restreams[open.at]?.name ?? '')}
        description={texts.live.removeRestreamText}
        action={texts.live.removeRestream}
        onConfirm={async () => {
          if (open)
            await saveList(
              open.base,
              open.base.restreams.filter((_, i) => i !== open.at),
            )
        }}
      />
    </Panel>
  )
}

const withItem = (list: Restream[], at: number, item: Restream) => [
  ...list.slice(0, at),
  item,
  ...list.slice(at + 1),
]

/** Names may occur twice. The list may have changed since the broadcast began. */
function stateOf(current: Broadcast | undefined, { name }: Restream, at: number) {
  const states = current?.restreams ?? []
  return states[at]?.name === name ? states[at] : states.find((state) => state.name === name)
}
