import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keysQuery, revokeKey } from '../../api/keys.ts'
import type { ApiKey } from '../../api/types.ts'
import { useEnvironment } from '../../app/environment.ts'
import { texts } from '../../texts/texts.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { Page } from '../../ui/page.tsx'
import { EmptyState, ErrorState, Loading } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { showToast } from '../../ui/toast-list.ts'
import { CreateKeyDialog } from './create-key-dialog.tsx'

export function KeysView() {
  const environment = useEnvironment()
  const client = useQueryClient()
  const keys = useQuery(keysQuery(environment))
  const [isCreating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<ApiKey>()
  const create = (
    <Button look="primary" icon="plus" onClick={() => setCreating(true)}>
      {texts.keys.create}
    </Button>
  )
  return (
    <Page title={texts.keys.title} intro={texts.keys.intro(texts.environments[environment])} actions={create}>
      {keys.isPending ? (
        <Loading />
      ) : !keys.data ? (
        <ErrorState error={keys.error} onRetry={() => keys.refetch()} />
      ) : keys.data.length === 0 ? (
        <EmptyState icon="key" title={texts.keys.emptyTitle}>
          {texts.keys.empty}
        </EmptyState>
      ) : (
        <Table
          isMain
          label={texts.keys.title}
          rows={keys.data}
          keyOf={({ keyId }) => keyId}
          columns={[
            { label: texts.keys.name, cell: ({ name }) => name },
            { label: texts.keys.createdAt, cell: ({ createdAt }) => <Time value={createdAt} /> },
            {
              label: texts.keys.lastUsedAt,
              cell: ({ lastUsedAt }) => (lastUsedAt ? <Time value={lastUsedAt} /> : texts.states.never),
            },
            {
              label: <span className="visually-hidden">{texts.actions.more}</span>,
              isNumber: true,
              cell: (key) => (
                <Button look="quiet" onClick={() => setRevoking(key)}>
                  {texts.keys.revoke}
                  <span className="visually-hidden"> {key.name}</span>
                </Button>
              ),
            },
          ]}
        />
      )}
      <CreateKeyDialog isOpen={isCreating} onClose={() => setCreating(false)} />
      <ConfirmDialog
        isOpen={revoking !== undefined}
        onClose={() => setRevoking(undefined)}
        title={texts.keys.revokeTitle(revoking?.name ?? '')}
        description={
          <>
            <p>{texts.keys.revokeText}</p>
            {revoking?.setting && (
              <p>
                <strong>{texts.keys.revokeSetting(revoking.setting)}</strong>
              </p>
            )}
          </>
        }
        action={texts.keys.revoke}
        onConfirm={async () => {
          await revokeKey(environment, revoking!.keyId)
          await client.invalidateQueries(keysQuery(environment))
          showToast(texts.keys.revoked(revoking!.name))
        }}
      />
    </Page>
  )
}
