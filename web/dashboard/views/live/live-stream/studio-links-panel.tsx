import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  deleteStudioToken,
  type LiveStream,
  type StudioToken,
  studioTokensQuery,
} from '../../../api/live-streams.ts'
import { useSession } from '../../../api/session.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Badge } from '../../../ui/badge.tsx'
import { Button, IconButton } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { PagedList } from '../../../ui/paged-list.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { Time } from '../../../ui/time.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import styles from './restreams-panel.module.css'
import { StudioLinkDialog } from './studio-link-dialog.tsx'

/** Who can broadcast from a browser, without the stream key. */
export function StudioLinksPanel({ stream: { liveStreamId: id } }: { stream: LiveStream }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const { whipUrl } = useSession()
  const query = studioTokensQuery(environment, id)
  const tokens = useInfiniteQuery({ ...query, enabled: whipUrl !== null })
  const [isCreating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<StudioToken>()
  if (!whipUrl) return undefined
  return (
    <Panel
      title={messages.live.studioLinks}
      actions={
        <Button icon="plus" onClick={() => setCreating(true)}>
          {messages.live.createStudioLink}
        </Button>
      }
    >
      <p className={styles.hint}>{messages.live.studioLinksIntro}</p>
      <PagedList query={tokens} empty={<p className={styles.hint}>{messages.live.studioLinksEmpty}</p>}>
        {(rows) => (
          <ul className={styles.list}>
            {rows.map((token) => (
              <StudioLinkItem key={token.studioTokenId} token={token} onRevoke={() => setRevoking(token)} />
            ))}
          </ul>
        )}
      </PagedList>
      {isCreating && <StudioLinkDialog liveStreamId={id} onClose={() => setCreating(false)} />}
      <ConfirmDialog
        isOpen={revoking !== undefined}
        onClose={() => setRevoking(undefined)}
        title={messages.live.revokeStudioLinkTitle}
        description={messages.live.revokeStudioLinkText}
        action={messages.live.revokeStudioLink}
        onConfirm={async () => {
          await deleteStudioToken(environment, id, revoking!.studioTokenId)
          await client.invalidateQueries({ queryKey: query.queryKey })
          showToast(messages.live.studioLinkRevoked)
        }}
      />
    </Panel>
  )
}

function StudioLinkItem({ token, onRevoke }: { token: StudioToken; onRevoke(): void }) {
  const { createdAt, expiresAt, isOpened, studioTokenId } = token
  return (
    <li className={styles.item}>
      <div className={styles.text}>
        <div className={styles.title}>
          <span>
            {messages.live.studioLinkCreated} <Time value={createdAt} />
          </span>
          {isOpened && <Badge variant="info">{messages.live.studioLinkOpened}</Badge>}
        </div>
        <div className={styles.hint}>
          {isOpened ? messages.live.studioSessionExpires : messages.live.studioLinkExpires}{' '}
          <Time value={expiresAt} />
        </div>
      </div>
      <IconButton
        icon="trash"
        label={messages.live.named(messages.live.revokeStudioLink, studioTokenId)}
        onClick={onRevoke}
      />
    </li>
  )
}
