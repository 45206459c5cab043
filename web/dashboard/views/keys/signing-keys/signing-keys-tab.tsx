import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { deleteSigningKey, type SigningKey, signingKeysQuery } from '../../../api/signing-keys.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { PagedList } from '../../../ui/paged-list.tsx'
import { EmptyState } from '../../../ui/states.tsx'
import { titleOf } from '../../../ui/title-of.ts'
import { showToast } from '../../../ui/toast-list.ts'
import type { KeysTabProps } from '../keys-tab.ts'
import { CreateSigningKeyDialog } from './create-signing-key-dialog.tsx'
import { SigningKeyDialog } from './signing-key-dialog.tsx'
import { SigningKeyTable } from './signing-key-table.tsx'

/** Keys with which customers sign the tokens of private videos themselves. */
export default function SigningKeysTab({ isCreating, onClose }: KeysTabProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const keys = useInfiniteQuery(signingKeysQuery(environment))
  const [shown, setShown] = useState<SigningKey>()
  const [deleting, setDeleting] = useState<SigningKey>()
  return (
    <>
      <PagedList
        query={keys}
        empty={
          <EmptyState icon="lock" title={messages.signingKeys.emptyTitle}>
            {messages.signingKeys.empty}
          </EmptyState>
        }
      >
        {(rows) => <SigningKeyTable keys={rows} onShow={setShown} onDelete={setDeleting} />}
      </PagedList>
      <CreateSigningKeyDialog isOpen={isCreating} onClose={onClose} />
      {shown && <SigningKeyDialog signingKey={shown} onClose={() => setShown(undefined)} />}
      <ConfirmDialog
        isOpen={deleting !== undefined}
        onClose={() => setDeleting(undefined)}
        title={messages.signingKeys.deleteTitle(titleOf(deleting?.name ?? ''))}
        description={messages.signingKeys.deleteText}
        action={messages.actions.delete}
        onConfirm={async () => {
          await deleteSigningKey(environment, deleting!.signingKeyId)
          await client.invalidateQueries(signingKeysQuery(environment))
          showToast(messages.signingKeys.deleted)
        }}
      />
    </>
  )
}
