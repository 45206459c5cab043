import { useSession } from '../../api/session.ts'
import { messages } from '../../messages/messages.ts'
import { CodeBlock } from '../../ui/code-block.tsx'
import { languageOf } from '../../ui/highlight.ts'
import { Tabs } from '../../ui/tabs.tsx'
import { samplesFor } from './samples.ts'

/** Programs with the address of this server and, right after its creation, the key. */
export default function CodeSamples({ apiKey }: { apiKey: string | undefined }) {
  const { publicUrl } = useSession()
  return (
    <>
      <p className="muted">
        {messages.home.codeIntro} {apiKey ? messages.home.codeReady : messages.home.codeNoKey}
      </p>
      <Tabs
        label={messages.home.languages}
        tabs={samplesFor(publicUrl, apiKey).map(({ language, code }) => ({
          value: language,
          label: language,
          content: <CodeBlock code={code} language={languageOf[language]} />,
        }))}
      />
      <a href="/docs" target="_blank" rel="noreferrer">
        {messages.home.documentation}
      </a>
    </>
  )
}
