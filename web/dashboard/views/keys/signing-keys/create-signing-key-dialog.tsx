import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiProblem } from '../../../api/problem.ts'
import { createSigningKey, signingKeysQuery } from '../../../api/signing-keys.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { TextField } from '../../../ui/field.tsx'
import { FormDialog } from '../../../ui/form-dialog.tsx'
import { SigningKeyDialog } from './signing-key-dialog.tsx'

/** Creates a key and shows its private key once: only the public one is stored. */
export function CreateSigningKeyDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [name, setName] = useState('')
  const create = useMutation({
    mutationFn: () => createSigningKey(environment, name.trim()),
    onSuccess: () => client.invalidateQueries(signingKeysQuery(environment)),
  })
  const close = () => {
    setName('')
    create.reset()
    onClose()
  }
  if (create.data) {
    const { privateKey } = create.data
    return isOpen && <SigningKeyDialog signingKey={create.data} privateKey={privateKey} onClose={close} />
  }
  const field = create.error instanceof ApiProblem ? create.error.fields.name : undefined
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={close}
      title={messages.signingKeys.create}
      action={messages.actions.create}
      isDisabled={create.isPending}
      error={field ? null : create.error}
      onSubmit={() => create.mutate()}
    >
      <TextField
        label={messages.signingKeys.name}
        hint={messages.signingKeys.nameHint}
        required
        maxLength={100}
        value={name}
        error={field}
        onChange={(event) => setName(event.target.value)}
      />
    </FormDialog>
  )
}
