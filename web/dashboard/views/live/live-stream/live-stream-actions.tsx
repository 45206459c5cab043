import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Environment } from '../../../api/client.ts'
import {
  createStudioToken,
  deleteLiveStream,
  endBroadcast,
  type LiveStream,
} from '../../../api/live-streams.ts'
import { ownPath } from '../../../api/own-path.ts'
import { useSession } from '../../../api/session.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { useLiveShareLinks } from '../../../app/use-share-links.ts'
import { messages } from '../../../messages/messages.ts'
import { Button, IconButton } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { CopyButton } from '../../../ui/copy-button.tsx'
import { Menu, MenuItem } from '../../../ui/menu.tsx'
import { showError, showToast } from '../../../ui/toast-list.ts'

/** The studio is opened at once. */
const studioTtl = 60

/** What the encoder needs before a broadcast, and what viewers need during it. Ends it, deletes the live stream. */
export function LiveStreamActions({ stream, isOnAir }: { stream: LiveStream; isOnAir: boolean }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const navigate = useNavigate()
  const [dialog, setDialog] = useState<'end' | 'delete'>()
  const close = () => setDialog(undefined)
  const { liveStreamId: id, name } = stream
  const { whipUrl } = useSession()
  return (
    <>
      {isOnAir && <CopyLink stream={stream} />}
      {!isOnAir && (
        <CopyButton
          variant={whipUrl ? 'plain' : 'primary'}
          text={stream.streamKey}
          label={messages.live.copyKey}
        />
      )}
      {!isOnAir && whipUrl && (
        <Button variant="primary" icon="play" onClick={() => openStudio(environment, id)}>
          {messages.live.goLive}
        </Button>
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

/** In a tab of its own, so that the broadcast goes on while this page is used. */
async function openStudio(environment: Environment, id: string): Promise<void> {
  // A tab that is opened after the request would be blocked.
  const tab = window.open('about:blank')
  try {
    const { url } = await createStudioToken(environment, id, studioTtl)
    if (tab) tab.location.href = ownPath(url)
    else location.href = ownPath(url)
  } catch (error) {
    tab?.close()
    showError(error as Error)
  }
}

function CopyLink({ stream }: { stream: LiveStream }) {
  const { assets } = useLiveShareLinks(stream, 'share')
  return <CopyButton variant="primary" text={assets?.player} label={messages.live.copyLink} />
}
