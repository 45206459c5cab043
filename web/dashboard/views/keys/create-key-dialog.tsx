import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { createKey, keysQuery } from '../../api/keys.ts'
import { ApiProblem } from '../../api/problem.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'

/** Creates a key and shows it once: only its hash is stored. */
export function CreateKeyDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [name, setName] = useState('')
  const create = useMutation({
    mutationFn: () => createKey(environment, name.trim()),
    onSuccess: () => client.invalidateQueries(keysQuery(environment)),
  })
  const close = () => {
    setName('')
    create.reset()
    onClose()
  }
  const field = create.error instanceof ApiProblem ? create.error.fields.name : undefined
  if (create.data) {
    return (
      <Dialog
        isOpen={isOpen}
        onClose={close}
        title={messages.keys.createdTitle}
        description={messages.keys.shownOnce}
      >
        <CodeBlock code={create.data.key} label={messages.keys.copy} />
        <DialogActions>
          <Button variant="primary" onClick={close}>
            {messages.keys.done}
          </Button>
        </DialogActions>
      </Dialog>
    )
  }
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={close}
      title={messages.keys.create}
      action={messages.actions.create}
      isDisabled={create.isPending}
      error={field ? null : create.error}
      onSubmit={() => create.mutate()}
    >
      <TextField
        label={messages.keys.name}
        hint={messages.keys.nameHint}
        required
        maxLength={100}
        value={name}
        error={field}
        onChange={(event) => setName(event.target.value)}
      />
    </FormDialog>
  )
}
