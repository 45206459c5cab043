import type { LiveStream } from '../../../api/live-streams.ts'
import { ownPath } from '../../../api/own-path.ts'
import { useLiveShareLinks } from '../../../app/use-share-links.ts'
import { messages } from '../../../messages/messages.ts'
import { buttonClass } from '../../../ui/button.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { Player } from '../../../ui/player.tsx'
import { PlayerAnchor } from '../../../ui/player-anchor.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { useStable } from '../../../ui/use-stable.ts'

/** The player of the viewers. It notices by itself when the broadcast begins and ends. */
export function PreviewPanel({ stream }: { stream: LiveStream }) {
  const player = useStable(ownPath(stream.assets.player), `${stream.public} ${stream.playerId}`)
  const { assets, error, renew } = useLiveShareLinks(stream, 'preview')
  return (
    <Panel
      title={messages.live.preview}
      actions={
        assets && (
          <PlayerAnchor className={buttonClass('quiet')} url={assets.player} onOpen={renew}>
            <Icon name="external" size={16} />
            {messages.live.openPlayer}
          </PlayerAnchor>
        )
      }
    >
      {error && <ErrorText error={error} />}
      <Player src={`${player}#muted;analytics:false`} title={messages.live.previewTitle(stream.name)} />
      <p className="secondary">{messages.live.previewHint}</p>
    </Panel>
  )
}
