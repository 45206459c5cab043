import { Link } from '@tanstack/react-router'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { classNames } from '../../ui/class-names.ts'
import { Icon } from '../../ui/icon.tsx'
import { Panel } from '../../ui/panel.tsx'
import styles from './activity.module.css'
import type { Attention } from './attention.ts'

const maxRows = 3

/** What has failed, with the reason and the way to it. */
export function AttentionPanel({ list }: { list: Attention[] }) {
  const environment = useEnvironment()
  return (
    <Panel
      title={messages.home.attention.title}
      actions={
        <Link to="/$environment/system" params={{ environment }}>
          {list.length > maxRows ? messages.home.all(list.length) : messages.system.title}
        </Link>
      }
    >
      <ul className={styles.list}>
        {list.slice(0, maxRows).map((each) => (
          <li key={each.key}>
            <AttentionRow attention={each} />
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function AttentionRow({ attention }: { attention: Attention }) {
  const environment = useEnvironment()
  const className = classNames(styles.row, styles.withMark)
  const content = <AttentionText attention={attention} />
  if ('videoId' in attention)
    return (
      <Link
        to="/$environment/videos/$videoId"
        params={{ environment, videoId: attention.videoId }}
        className={className}
      >
        {content}
      </Link>
    )
  if ('webhookId' in attention)
    return (
      <Link
        to="/$environment/webhooks/$webhookId"
        params={{ environment, webhookId: attention.webhookId }}
        className={className}
      >
        {content}
      </Link>
    )
  return (
    <Link to="/$environment/system" params={{ environment }} className={className}>
      {content}
    </Link>
  )
}

const AttentionText = ({ attention: { title, text, isBad } }: { attention: Attention }) => (
  <>
    <span className={isBad ? styles.bad : styles.warn}>
      <Icon name="warning" size={20} />
    </span>
    <span className={styles.text}>
      <span className={styles.title} dir="auto">
        {title}
      </span>
      <span className={styles.sentence}>{text}</span>
    </span>
  </>
)
