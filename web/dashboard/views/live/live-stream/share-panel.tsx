import type { LiveStream } from '../../../api/live-streams.ts'
import { useLiveShareLinks } from '../../../app/use-share-links.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import styles from './stream-panels.module.css'

/** The link and the embed code. */
export const SharePanel = ({ stream }: { stream: LiveStream }) => (
  <Panel title={messages.live.share}>
    {stream.public ? <Links assets={stream.assets} /> : <PrivateLinks stream={stream} />}
  </Panel>
)

/** The preview uses up the link that came with the live stream, so these have links of their own. */
function PrivateLinks({ stream }: { stream: LiveStream }) {
  const { assets, error, isFetching, renew } = useLiveShareLinks(stream, 'share')
  return (
    <>
      {assets && <Links assets={assets} />}
      {error && <ErrorText error={error} />}
      <p className="secondary">{messages.live.privateLink}</p>
      <div>
        <Button icon="reload" disabled={isFetching} onClick={renew}>
          {messages.live.newLink}
        </Button>
      </div>
    </>
  )
}

const Links = ({ assets }: { assets: LiveStream['assets'] }) => (
  <>
    <div className={styles.labelled}>
      <h3>{messages.live.link}</h3>
      <CodeBlock code={assets.player} label={messages.live.copyLink} />
    </div>
    <div className={styles.labelled}>
      <h3>{messages.live.embed}</h3>
      <CodeBlock code={assets.iframe} language="html" label={messages.live.copyEmbed} />
    </div>
  </>
)
