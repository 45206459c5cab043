import { Link } from '@tanstack/react-router'
import type { UploadToken } from '../../../api/upload-tokens.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { CopyButton } from '../../../ui/copy-button.tsx'
import { Table } from '../../../ui/table.tsx'
import { Time } from '../../../ui/time.tsx'
import styles from '../keys-view.module.css'

type TokenTableProps = {
  tokens: UploadToken[]
  onShow(token: UploadToken): void
  onDelete(token: UploadToken): void
}

/** Enough to recognize a token, but not to use it. */
const startOf = ({ token }: UploadToken) => `${token.slice(0, 8)}…`

export function TokenTable({ tokens, onShow, onDelete }: TokenTableProps) {
  const environment = useEnvironment()
  return (
    <Table
      isMain
      label={messages.uploadTokens.title}
      rows={tokens}
      keyOf={({ token }) => token}
      columns={[
        {
          label: messages.uploadTokens.token,
          cell: (token) => (
            <span className={styles.id}>
              <code>{startOf(token)}</code>
              <CopyButton text={token.token} label={messages.uploadTokens.copy(startOf(token))} isIcon />
            </span>
          ),
        },
        {
          label: messages.uploadTokens.use,
          cell: ({ videoId }) =>
            videoId ? (
              <Link to="/$environment/videos/$videoId" params={{ environment, videoId }}>
                {messages.uploadTokens.oneVideo}
              </Link>
            ) : (
              messages.uploadTokens.newVideos
            ),
        },
        { label: messages.uploadTokens.createdAt, cell: ({ createdAt }) => <Time value={createdAt} /> },
        {
          label: messages.uploadTokens.expiresAt,
          cell: ({ expiresAt }) => (expiresAt ? <Time value={expiresAt} /> : messages.states.never),
        },
        {
          label: <span className="visually-hidden">{messages.actions.more}</span>,
          isNumber: true,
          cell: (token) => (
            <span className={styles.actions}>
              <Button variant="quiet" onClick={() => onShow(token)}>
                {messages.uploadTokens.show}
                <span className="visually-hidden"> {startOf(token)}</span>
              </Button>
              <Button variant="quiet" onClick={() => onDelete(token)}>
                {messages.actions.delete}
                <span className="visually-hidden"> {startOf(token)}</span>
              </Button>
            </span>
          ),
        },
      ]}
    />
  )
}
