import { useState } from 'react'
import { useSession } from '../../../api/session.ts'
import type { Video } from '../../../api/types.ts'
import { texts } from '../../../texts/texts.ts'
import { buttonClass } from '../../../ui/button.tsx'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { CopyButton } from '../../../ui/copy-button.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { defaultOptions, embedCode, playerUrl } from './embed-code.ts'
import { EmbedOptionsForm } from './embed-options.tsx'
import styles from './embed-tab.module.css'

const words = texts.video.embed

export function EmbedTab({ video }: { video: Video }) {
  const [options, setOptions] = useState(defaultOptions)
  const code = embedCode(video.assets, options)
  const url = playerUrl(video.assets.player, options)
  return (
    <div className={styles.tab}>
      {!video.public && (
        <div className={styles.notice} role="note">
          <strong>{words.privateTitle}</strong>
          <p>{words.privateText}</p>
        </div>
      )}
      <Panel title={words.code}>
        <CodeBlock code={code} label={words.copyCode} />
        <EmbedOptionsForm options={options} onChange={setOptions} />
        <div>
          <a className={buttonClass()} href={url} target="_blank" rel="noreferrer">
            <Icon name="external" size={16} />
            {words.tryIt}
          </a>
        </div>
      </Panel>
      <Links video={video} />
    </div>
  )
}

function Links({ video: { assets, public: isPublic } }: { video: Video }) {
  const { publicUrl } = useSession()
  const links: [string, string | undefined][] = [
    [words.share, assets.player],
    [words.hls, assets.hls],
    [words.mp4, assets.mp4],
    [words.thumbnail, assets.thumbnail],
    [words.oembed, isPublic ? `${publicUrl}/oembed?url=${encodeURIComponent(assets.player)}` : undefined],
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
                  <a href={url} target="_blank" rel="noreferrer">
                    {url}
                  </a>
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
