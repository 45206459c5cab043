import type { LiveStream } from '../../api/live-streams.ts'
import { texts } from '../../texts/texts.ts'
import { CodeBlock } from '../../ui/code-block.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useStable } from '../../ui/use-stable.ts'
import styles from './stream-panels.module.css'

/** The link and the embed code. */
export function SharePanel({ stream }: { stream: LiveStream }) {
  const assets = useStable(stream.assets, String(stream.public))
  return (
    <Panel title={texts.live.share}>
      <div className={styles.labelled}>
        <h3>{texts.live.link}</h3>
        <CodeBlock code={assets.player} label={texts.live.copyLink} />
      </div>
      <div className={styles.labelled}>
        <h3>{texts.live.embed}</h3>
        <CodeBlock code={assets.iframe} label={texts.live.copyEmbed} />
      </div>
      {!stream.public && <p className={styles.hint}>{texts.live.privateLink}</p>}
    </Panel>
  )
}
