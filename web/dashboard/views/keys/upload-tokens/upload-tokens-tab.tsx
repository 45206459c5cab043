import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { deleteUploadToken, type UploadToken, uploadTokensQuery } from '../../../api/upload-tokens.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { PagedList } from '../../../ui/paged-list.tsx'
import { EmptyState } from '../../../ui/states.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import type { KeysTabProps } from '../keys-tab.ts'
import { CreateTokenDialog } from './create-token-dialog.tsx'
import { TokenDialog } from './token-dialog.tsx'
import { TokenTable } from './token-table.tsx'

/** What others upload with, who have no API key. */
export default function UploadTokensTab({ isCreating, onClose }: KeysTabProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const tokens = useInfiniteQuery(uploadTokensQuery(environment))
  const [shown, setShown] = useState<UploadToken>()
  const [deleting, setDeleting] = useState<UploadToken>()
  return (
    <>
      <PagedList
        query={tokens}
        empty={
          <EmptyState icon="upload" title={messages.uploadTokens.emptyTitle}>
            {messages.uploadTokens.empty}
          </EmptyState>
        }
      >
        {(rows) => <TokenTable tokens={rows} onShow={setShown} onDelete={setDeleting} />}
      </PagedList>
      <CreateTokenDialog isOpen={isCreating} onClose={onClose} />
      {shown && <TokenDialog token={shown} onClose={() => setShown(undefined)} />}
      <ConfirmDialog
        isOpen={deleting !== undefined}
        onClose={() => setDeleting(undefined)}
        title={messages.uploadTokens.deleteTitle}
        description={messages.uploadTokens.deleteText}
        action={messages.actions.delete}
        onConfirm={async () => {
          await deleteUploadToken(environment, deleting!.token)
          await client.invalidateQueries(uploadTokensQuery(environment))
          showToast(messages.uploadTokens.deleted)
        }}
      />
    </>
  )
}
