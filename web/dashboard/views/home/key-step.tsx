import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
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
import { Step } from './step.tsx'

/** Names are unique. */
function freeName(keys: ApiKey[]): string {
  const isTaken = (name: string) => keys.some((key) => key.name === name)
  let name: string = messages.home.keyDefault
  for (let number = 2; isTaken(name); number++) name = messages.home.keyNumber(number)
  return name
}

type KeyStepProps = { apiKey: string | undefined; onCreate(key: string): void }

export function KeyStep({ apiKey, onCreate }: KeyStepProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const keys = useQuery(keysQuery(environment))
  const [typed, setName] = useState<string>()
  const name = typed ?? freeName(keys.data ?? [])
  const create = useMutation({
    mutationFn: () => createKey(environment, name.trim()),
    onSuccess: ({ key }) => {
      onCreate(key)
      return client.invalidateQueries(keysQuery(environment))
    },
  })
  const field = create.error instanceof ApiProblem ? create.error.fields.name : undefined
  const count = keys.data?.length ?? 0
  return (
    <Step number={1} title={messages.home.key} isDone={apiKey !== undefined || count > 0}>
      {apiKey ? (
        <>
          <CodeBlock code={apiKey} label={messages.home.copyKey} />
          <p className="muted" role="status">
            {messages.home.keyOnce}
          </p>
        </>
      ) : (
        <>
          <p className="muted">{count > 0 ? messages.home.keyAnother(count) : messages.home.keyIntro}</p>
          <Form isInline onSubmit={() => create.mutate()}>
            <TextField
              label={messages.home.keyName}
              required
              maxLength={100}
              value={name}
              error={field}
              onChange={(event) => setName(event.target.value)}
            />
            <Button
              variant={count > 0 ? 'plain' : 'primary'}
              icon="key"
              type="submit"
              disabled={create.isPending}
            >
              {messages.home.keyCreate}
            </Button>
          </Form>
          {create.error && !field && <ErrorText error={create.error} />}
        </>
      )}
    </Step>
  )
}
