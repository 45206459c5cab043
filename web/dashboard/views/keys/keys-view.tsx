import { useNavigate, useSearch } from '@tanstack/react-router'
import { Suspense, useCallback, useState } from 'react'
import { useCommand } from '../../app/commands.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { lazyWithRetry } from '../../ui/load-with-retry.ts'
import { Page } from '../../ui/page.tsx'
import { Loading } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { ApiKeysTab } from './api-keys-tab.tsx'
import { readKeysSearch, tabs } from './keys-tab.ts'

const UploadTokensTab = lazyWithRetry(() => import('./upload-tokens/upload-tokens-tab.tsx'))
const SigningKeysTab = lazyWithRetry(() => import('./signing-keys/signing-keys-tab.tsx'))

const contents = {
  'api-keys': { Content: ApiKeysTab, words: messages.keys },
  'upload-tokens': { Content: UploadTokensTab, words: messages.uploadTokens },
  'signing-keys': { Content: SigningKeysTab, words: messages.signingKeys },
}

/** Everything that programs and viewers identify themselves with. */
export function KeysView() {
  const environment = useEnvironment()
  const { tab = 'api-keys' } = useSearch({ from: '/$environment/keys' })
  const navigate = useNavigate({ from: '/$environment/keys' })
  const [isCreating, setCreating] = useState(false)
  const run = useCallback(() => setCreating(true), [])
  const { words } = contents[tab]
  useCommand({ id: 'create-key', label: words.create, run })
  return (
    <Page
      title={messages.keys.title}
      intro={words.intro(messages.environments[environment])}
      actions={
        <Button variant="primary" icon="plus" onClick={run}>
          {words.create}
        </Button>
      }
    >
      <Tabs
        label={messages.keys.tabs}
        value={tab}
        onChange={(value) => void navigate({ search: readKeysSearch({ tab: value }) })}
        tabs={tabs.map((value) => {
          const { Content, words } = contents[value]
          return {
            value,
            label: words.title,
            content: (
              <Suspense fallback={<Loading />}>
                <Content isCreating={isCreating} onClose={() => setCreating(false)} />
              </Suspense>
            ),
          }
        })}
      />
    </Page>
  )
}
