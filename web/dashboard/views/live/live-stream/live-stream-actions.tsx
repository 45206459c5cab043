import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { deleteLiveStream, endBroadcast, type LiveStream } from '../../../api/live-streams.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { useLiveShareLinks } from '../../../app/use-share-links.ts'
import { messages } from '../../../messages/messages.ts'
import { Button, IconButton } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { CopyButton } from '../../../ui/copy-button.tsx'
import { Menu, MenuItem } from '../../../ui/menu.tsx'
import { showToast } from '../../../ui/toast-list.ts'

/** What the encoder needs before a broadcast, and what viewers need during it. Ends it, deletes the live stream. */
export function LiveStreamActions({ stream, isOnAir }: { stream: LiveStream; isOnAir: boolean }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const navigate = useNavigate()
  const [dialog, setDialog] = useState<'end' | 'delete'>()
  const close = () => setDialog(undefined)
  const { liveStreamId: id, name } = stream
  return (
    <>
      {isOnAir ? (
        <CopyLink stream={stream} />
      ) : (
        <CopyButton variant="primary" text={stream.streamKey} label={messages.live.copyKey} />
      )}
      {isOnAir && (
        <Button icon="stop" onClick={() => setDialog('end')}>
          {messages.live.end}
        </Button>
      )}
      <Menu trigger={<IconButton variant="plain" icon="more" label={messages.actions.more} />}>
        <MenuItem icon="trash" isDangerous onSelect={() => setDialog('delete')}>
          {messages.live.delete}
        </MenuItem>
      </Menu>
      <ConfirmDialog
        isOpen={dialog === 'end'}
        onClose={close}
        title={messages.live.endTitle}
        description={stream.record ? messages.live.endTextRecorded : messages.live.endText}
        action={messages.live.end}
        onConfirm={async () => {
          await endBroadcast(environment, id)
          showToast(messages.live.ended)
        }}
      />
      <ConfirmDialog
        isOpen={dialog === 'delete'}
        onClose={close}
        title={messages.live.deleteTitle(name)}
        description={`${isOnAir ? `${messages.live.deleteOnAir} ` : ''}${messages.live.deleteText}`}
        action={messages.actions.delete}
        onConfirm={async () => {
          await deleteLiveStream(environment, id)
          await navigate({ to: '/$environment/live', params: { environment }, ignoreBlocker: true })
          client.removeQueries({ queryKey: [environment, 'live-streams', id] })
          await client.invalidateQueries({ queryKey: [environment, 'live-streams', 'list'] })
          showToast(messages.live.deleted(name))
        }}
      />
    </>
  )
}

function CopyLink({ stream }: { stream: LiveStream }) {
  const { assets } = useLiveShareLinks(stream, 'share')
  return <CopyButton variant="primary" text={assets?.player} label={messages.live.copyLink} />
}
