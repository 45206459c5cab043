import { useState } from 'react'
import { useSession } from '../../../../api/session.ts'
import type { Video } from '../../../../api/types.ts'
import { useShareLinks } from '../../../../app/use-share-links.ts'
import { messages } from '../../../../messages/messages.ts'
import { Button, buttonClass } from '../../../../ui/button.tsx'
import { CodeBlock } from '../../../../ui/code-block.tsx'
import { CopyButton } from '../../../../ui/copy-button.tsx'
import { Icon } from '../../../../ui/icon.tsx'
import { Panel } from '../../../../ui/panel.tsx'
import { PlayerAnchor } from '../../../../ui/player-anchor.tsx'
import { EmptyState, ErrorText, Loading } from '../../../../ui/states.tsx'
import { defaultOptions, embedCode, playerUrl } from './embed-code.ts'
import { EmbedOptionsForm } from './embed-options.tsx'
import styles from './embed-tab.module.css'

const words = messages.video.embed

/** There is nothing to embed if the file of the video cannot be played. */
export const EmbedTab = ({ video, isBroken }: { video: Video; isBroken: boolean }) =>
  isBroken ? (
    <EmptyState icon="warning" title={words.brokenTitle}>
      {words.broken}
    </EmptyState>
  ) : (
    <EmbedCode video={video} />
  )

function EmbedCode({ video }: { video: Video }) {
  const [options, setOptions] = useState(defaultOptions)
  const { assets, error, isFetching, renew } = useShareLinks(video, 'embed')
  return (
    <div className="stack">
      {!video.public && (
        <div className={styles.notice} role="note">
          <strong>{words.privateTitle}</strong>
          <p>{words.privateText}</p>
          {error && <ErrorText error={error} />}
          <div>
            <Button icon="reload" disabled={isFetching} onClick={renew}>
              {words.newLinks}
            </Button>
          </div>
        </div>
      )}
      <Panel title={words.code}>
        <CodeBlock code={assets && embedCode(assets, options)} language="html" label={words.copyCode} />
        <EmbedOptionsForm options={options} onChange={setOptions} />
        {assets && (
          <div>
            <PlayerAnchor className={buttonClass()} url={playerUrl(assets.player, options)} onOpen={renew}>
              <Icon name="external" size={16} />
              {words.tryIt}
            </PlayerAnchor>
          </div>
        )}
      </Panel>
      {assets ? <Links video={video} assets={assets} onOpen={renew} /> : !error && <Loading />}
    </div>
  )
}

type LinksProps = { video: Video; assets: Video['assets']; onOpen(): void }

function Links({ video, assets, onOpen }: LinksProps) {
  const { publicUrl } = useSession()
  const oembed = `${publicUrl}/oembed?url=${encodeURIComponent(assets.player)}`
  const links: [string, string | undefined][] = [
    [words.share, assets.player],
    [words.hls, assets.hls],
    [words.mp4, assets.mp4],
    [words.thumbnail, assets.thumbnail],
    [words.oembed, video.public ? oembed : undefined],
  ]
  return (
    <Panel title={words.links}>
      <dl className={styles.links}>
        {links.map(
          ([label, url]) =>
            url && (
              <div key={label} className={styles.link}>
                <dt>{label}</dt>
                <dd>
                  <PlayerAnchor url={url} onOpen={onOpen}>
                    {url}
                  </PlayerAnchor>
                </dd>
                <dd>
                  <CopyButton text={url} label={words.copy(label)} isIcon />
                </dd>
              </div>
            ),
        )}
      </dl>
    </Panel>
  )
}
