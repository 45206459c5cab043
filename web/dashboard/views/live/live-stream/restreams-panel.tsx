import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  type Broadcast,
  type LiveStream,
  liveStreamQuery,
  type Restream,
  updateLiveStream,
} from '../../../api/live-streams.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { isSameJson } from '../../../draft/draft.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import { RestreamDialog } from './restream-dialog.tsx'
import { RestreamItem } from './restream-item.tsx'
import styles from './restreams-panel.module.css'

const maxRestreams = 5

/** What the open dialog does. Without a restream it adds one. */
type Open = { action: 'edit' | 'remove'; restream: Restream | undefined }

export function RestreamsPanel({ stream, current }: { stream: LiveStream; current: Broadcast | undefined }) {
  const { restreams } = stream
  const [open, setOpen] = useState<Open>()
  const replace = useReplaceRestream(stream.liveStreamId)
  const isFull = restreams.length >= maxRestreams
  const close = () => setOpen(undefined)
  return (
    <Panel
      title={messages.live.restreams}
      actions={
        <Button
          icon="plus"
          disabled={isFull}
          onClick={() => setOpen({ action: 'edit', restream: undefined })}
        >
          {messages.live.addRestream}
        </Button>
      }
    >
      <p className={styles.hint}>
        {isFull ? messages.live.restreamsMax(maxRestreams) : messages.live.restreamsIntro}
      </p>
      {restreams.length === 0 ? (
        <p className={styles.hint}>{messages.live.restreamsEmpty}</p>
      ) : (
        <ul className={styles.list}>
          {restreams.map((restream, at) => (
            <RestreamItem
              key={at}
              restream={restream}
              state={stateOf(current, restream, at)}
              isOnAir={current !== undefined}
              onEdit={() => setOpen({ action: 'edit', restream })}
              onRemove={() => setOpen({ action: 'remove', restream })}
            />
          ))}
        </ul>
      )}
      {open?.action === 'edit' && (
        <RestreamDialog
          restream={open.restream}
          onClose={close}
          onSave={(next) => replace(open.restream, next)}
        />
      )}
      <ConfirmDialog
        isOpen={open?.action === 'remove'}
        onClose={close}
        title={messages.live.removeRestreamTitle(open?.restream?.name ?? '')}
        description={messages.live.removeRestreamText}
        action={messages.live.removeRestream}
        onConfirm={async () => replace(open?.restream, undefined)}
      />
    </Panel>
  )
}

/** Adds, changes or removes one restream. The others stay as they are stored. */
function useReplaceRestream(liveStreamId: string) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const query = liveStreamQuery(environment, liveStreamId)
  return async (before: Restream | undefined, after: Restream | undefined): Promise<void> => {
    const { restreams } = await client.fetchQuery({ ...query, staleTime: 0 })
    // A restream has no id: it is the one with these values.
    const at = before ? restreams.findIndex((each) => isSameJson(each, before)) : restreams.length
    if (at < 0) throw new Error(messages.live.restreamChanged)
    const next = restreams.toSpliced(at, 1, ...(after ? [after] : []))
    client.setQueryData(
      query.queryKey,
      await updateLiveStream(environment, liveStreamId, { restreams: next }),
    )
    void client.invalidateQueries({ queryKey: query.queryKey, exact: true })
    showToast(messages.live.restreamSaved)
  }
}

/** Names may occur twice. The list may have changed since the broadcast began. */
function stateOf(current: Broadcast | undefined, { name }: Restream, at: number) {
  const states = current?.restreams ?? []
  return states[at]?.name === name ? states[at] : states.find((state) => state.name === name)
}
