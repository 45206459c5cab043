import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { createKey, keysQuery } from '../../api/keys.ts'
import { ApiProblem } from '../../api/problem.ts'
import type { ApiKey } from '../../api/types.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorText } from '../../ui/states.tsx'

/** Names are unique. */
function freeName(keys: ApiKey[]): string {
  const isTaken = (name: string) => keys.some((key) => key.name === name)
  let name: string = messages.home.keyDefault
  for (let number = 2; isTaken(name); number++) name = messages.home.keyNumber(number)
  return name
}

type CreateKeyProps = { keys: ApiKey[]; apiKey: string | undefined; onCreate(key: string): void }

/** A form, and then the key, which has the focus. */
export function CreateKey({ keys, apiKey, onCreate }: CreateKeyProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [typed, setName] = useState<string>()
  const name = typed ?? freeName(keys)
  const create = useMutation({
    mutationFn: () => createKey(environment, name.trim()),
    onSuccess: ({ key }) => {
      onCreate(key)
      return client.invalidateQueries(keysQuery(environment))
    },
  })
  const field = create.error instanceof ApiProblem ? create.error.fields.name : undefined
  if (apiKey)
    return (
      <>
        <CodeBlock code={apiKey} label={messages.home.copyKey} hasFocus />
        <p className="muted" role="status">
          {messages.home.keyOnce}
        </p>
      </>
    )
  return (
    <>
      <p className="muted">
        {keys.length > 0 ? messages.home.keyAnother(keys.length) : messages.home.keyIntro}
      </p>
      <Form isInline onSubmit={() => !create.isPending && create.mutate()}>
        <TextField
          label={messages.home.keyName}
          required
          maxLength={100}
          value={name}
          error={field}
          onChange={(event) => setName(event.target.value)}
        />
        {/* Disabled buttons lose the focus. */}
        <Button
          variant={keys.length > 0 ? 'plain' : 'primary'}
          icon="key"
          type="submit"
          aria-disabled={create.isPending}
        >
          {messages.home.keyCreate}
        </Button>
      </Form>
      {create.error && !field && <ErrorText error={create.error} />}
    </>
  )
}
