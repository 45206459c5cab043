import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { deleteLiveStream, endBroadcast, type LiveStream } from '../../../api/live-streams.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { texts } from '../../../texts/texts.ts'
import { Button, IconButton } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { Menu, MenuItem } from '../../../ui/menu.tsx'
import { showToast } from '../../../ui/toast-list.ts'

/** Ends the broadcast, deletes the live stream. */
export function LiveStreamActions({ stream, isOnAir }: { stream: LiveStream; isOnAir: boolean }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const navigate = useNavigate()
  const [dialog, setDialog] = useState<'end' | 'delete'>()
  const close = () => setDialog(undefined)
  const { liveStreamId: id, name } = stream
  return (
    <>
      {isOnAir && (
        <Button look="danger" icon="stop" onClick={() => setDialog('end')}>
          {texts.live.end}
        </Button>
      )}
      <Menu trigger={<IconButton look="plain" icon="more" label={texts.actions.more} />}>
        <MenuItem icon="trash" isDangerous onSelect={() => setDialog('delete')}>
          {texts.live.delete}
        </MenuItem>
      </Menu>
      <ConfirmDialog
        isOpen={dialog === 'end'}
        onClose={close}
        title={texts.live.endTitle}
        description={texts.live.endText}
        action={texts.live.end}
        onConfirm={async () => {
          await endBroadcast(environment, id)
          showToast(texts.live.ended)
        }}
      />
      <ConfirmDialog
        isOpen={dialog === 'delete'}
        onClose={close}
        title={texts.live.deleteTitle(name)}
        description={`${isOnAir ? `${texts.live.deleteOnAir} ` : ''}${texts.live.deleteText}`}
        action={texts.actions.delete}
        onConfirm={async () => {
          await deleteLiveStream(environment, id)
          await navigate({ to: '/$environment/live', params: { environment }, ignoreBlocker: true })
          client.removeQueries({ queryKey: [environment, 'live-streams', id] })
          await client.invalidateQueries({ queryKey: [environment, 'live-streams', 'list'] })
          showToast(texts.live.deleted(name))
        }}
      />
    </>
  )
}
