import { texts } from '../../../texts/texts.ts'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import styles from './secret-panel.module.css'
import { verifySamples } from './verify-samples.ts'

/** Code that checks the signature of a delivery. */
export function VerifyPanel() {
  return (
    <Panel title={texts.webhooks.verify}>
      <p className={styles.muted}>{texts.webhooks.verifyIntro}</p>
      <Tabs
        label={texts.webhooks.languages}
        tabs={Object.entries(verifySamples).map(([language, code]) => ({
          value: language,
          label: language,
          content: <CodeBlock code={code} />,
        }))}
      />
    </Panel>
  )
}
