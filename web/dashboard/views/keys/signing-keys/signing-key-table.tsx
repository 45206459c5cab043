import type { SigningKey } from '../../../api/signing-keys.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { CopyButton } from '../../../ui/copy-button.tsx'
import { Table } from '../../../ui/table.tsx'
import { Time } from '../../../ui/time.tsx'
import { titleOf } from '../../../ui/title-of.ts'
import styles from '../keys-view.module.css'

type SigningKeyTableProps = {
  keys: SigningKey[]
  onShow(key: SigningKey): void
  onDelete(key: SigningKey): void
}

export const SigningKeyTable = ({ keys, onShow, onDelete }: SigningKeyTableProps) => (
  <Table
    isMain
    label={messages.signingKeys.title}
    rows={keys}
    keyOf={({ signingKeyId }) => signingKeyId}
    columns={[
      { label: messages.signingKeys.name, cell: ({ name }) => titleOf(name) },
      {
        label: messages.signingKeys.id,
        cell: ({ signingKeyId }) => (
          <span className={styles.id}>
            <code>{signingKeyId}</code>
            <CopyButton text={signingKeyId} label={messages.signingKeys.copyId(signingKeyId)} isIcon />
          </span>
        ),
      },
      { label: messages.signingKeys.createdAt, cell: ({ createdAt }) => <Time value={createdAt} /> },
      {
        label: <span className="visually-hidden">{messages.actions.more}</span>,
        isNumber: true,
        cell: (key) => (
          <span className={styles.actions}>
            <Button variant="quiet" onClick={() => onShow(key)}>
              {messages.signingKeys.show}
              <span className="visually-hidden"> {key.name}</span>
            </Button>
            <Button variant="quiet" onClick={() => onDelete(key)}>
              {messages.actions.delete}
              <span className="visually-hidden"> {key.name}</span>
            </Button>
          </span>
        ),
      },
    ]}
  />
)
