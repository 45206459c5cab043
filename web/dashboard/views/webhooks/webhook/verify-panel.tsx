import { messages } from '../../../messages/messages.ts'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { languageOf } from '../../../ui/highlight.ts'
import { Panel } from '../../../ui/panel.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import { verifySamples } from './verify-samples.ts'

/** Code that checks the signature of a delivery. */
export function VerifyPanel() {
  return (
    <Panel title={messages.webhooks.verify}>
      <p className="muted">{messages.webhooks.verifyIntro}</p>
      <Tabs
        label={messages.webhooks.languages}
        tabs={Object.entries(verifySamples).map(([language, code]) => ({
          value: language,
          label: language,
          content: <CodeBlock code={code} language={languageOf[language]} />,
        }))}
      />
    </Panel>
  )
}
