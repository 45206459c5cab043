import { useSession } from '../../api/session.ts'
import { texts } from '../../texts/texts.ts'
import { CodeBlock } from '../../ui/code-block.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { samplesFor } from './samples.ts'
import styles from './step.module.css'
import { Step } from './step.tsx'

/** Programs with the address of this server and, right after its creation, the key. */
export default function CodeStep({ apiKey }: { apiKey: string | undefined }) {
  const { publicUrl } = useSession()
  return (
    <Step number={4} title={texts.home.code} isDone={false}>
      <p className={styles.muted}>
        {texts.home.codeIntro} {apiKey ? texts.home.codeReady : texts.home.codeNoKey}
      </p>
      <Tabs
        label={texts.home.languages}
        tabs={samplesFor(publicUrl, apiKey).map(({ language, code }) => ({
          value: language,
          label: language,
          content: <CodeBlock code={code} />,
        }))}
      />
      <a href="/docs" target="_blank" rel="noreferrer">
        {texts.home.documentation}
      </a>
    </Step>
  )
}
