import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keysQuery, revokeKey } from '../../api/keys.ts'
import type { ApiKey } from '../../api/types.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { EmptyState, ErrorState, Loading } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { showToast } from '../../ui/toast-list.ts'
import { CreateKeyDialog } from './create-key-dialog.tsx'
import type { KeysTabProps } from './keys-tab.ts'

/** What programs use the API with. */
export function ApiKeysTab({ isCreating, onClose }: KeysTabProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const keys = useQuery(keysQuery(environment))
  const [revoking, setRevoking] = useState<ApiKey>()
  return (
    <>
      {keys.isPending ? (
        <Loading />
      ) : !keys.data ? (
        <ErrorState error={keys.error} onRetry={() => keys.refetch()} />
      ) : keys.data.length === 0 ? (
        <EmptyState icon="key" title={messages.keys.emptyTitle}>
          {messages.keys.empty}
        </EmptyState>
      ) : (
        <Table
          isMain
          label={messages.keys.title}
          rows={keys.data}
          keyOf={({ keyId }) => keyId}
          columns={[
            { label: messages.keys.name, cell: ({ name }) => name },
            { label: messages.keys.createdAt, cell: ({ createdAt }) => <Time value={createdAt} /> },
            {
              label: messages.keys.lastUsedAt,
              cell: ({ lastUsedAt }) => (lastUsedAt ? <Time value={lastUsedAt} /> : messages.states.never),
            },
            {
              label: <span className="visually-hidden">{messages.actions.more}</span>,
              isNumber: true,
              cell: (key) => (
                <Button variant="quiet" onClick={() => setRevoking(key)}>
                  {messages.keys.revoke}
                  <span className="visually-hidden"> {key.name}</span>
                </Button>
              ),
            },
          ]}
        />
      )}
      <CreateKeyDialog isOpen={isCreating} onClose={onClose} />
      <ConfirmDialog
        isOpen={revoking !== undefined}
        onClose={() => setRevoking(undefined)}
        title={messages.keys.revokeTitle(revoking?.name ?? '')}
        description={
          <>
            <p>{messages.keys.revokeText}</p>
            {revoking?.setting && (
              <p>
                <strong>{messages.keys.revokeSetting(revoking.setting)}</strong>
              </p>
            )}
          </>
        }
        action={messages.keys.revoke}
        onConfirm={async () => {
          await revokeKey(environment, revoking!.keyId)
          await client.invalidateQueries(keysQuery(environment))
          showToast(messages.keys.revoked(revoking!.name))
        }}
      />
    </>
  )
}
