import { Link } from '@tanstack/react-router'
import { useId, useState } from 'react'
import type { ViewerSession } from '../../../api/viewing-sessions.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { formatPercent, formatSpan } from '../../../ui/format.ts'
import { Time } from '../../../ui/time.tsx'
import { labelOf, safeLink } from '../filters/dimension-names.ts'
import { EventList } from './event-list.tsx'
import styles from './session-item.module.css'
import { WatchedTimeline } from './watched-timeline.tsx'

/** One viewing: of what, by whom, with what, and which parts. */
export function SessionItem({ session: viewing }: { session: ViewerSession }) {
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  const { session, media, watch } = viewing
  const toggle = isOpen ? messages.viewers.hideEvents : messages.viewers.showEvents
  return (
    <li className={styles.item}>
      <div className={styles.head}>
        <MediaLink media={media} />
        <span className={styles.muted}>
          <Time value={session.loadedAt} />
        </span>
      </div>
      <WatchedTimeline media={media} watch={watch} />
      <div className={styles.foot}>
        <div className={styles.facts}>
          <span>{formatSpan(watch.seconds)}</span>
          {watch.completion !== null && (
            <span>{messages.viewers.completed(formatPercent(watch.completion))}</span>
          )}
          <Facts viewing={viewing} />
          {session.metadata.map(({ key, value }) => (
            <code key={key} className={styles.pair} dir="auto">
              {key}={value}
            </code>
          ))}
        </div>
        <Button variant="quiet" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
          {toggle}
        </Button>
      </div>
      <div id={id} hidden={!isOpen}>
        {isOpen && <EventList sessionId={session.sessionId} />}
      </div>
    </li>
  )
}

function MediaLink({ media: { id, type, title } }: { media: ViewerSession['media'] }) {
  const environment = useEnvironment()
  const name = <bdi>{title || id}</bdi>
  return type === 'video' ? (
    <Link to="/$environment/videos/$videoId" params={{ environment, videoId: id }}>
      {name}
    </Link>
  ) : (
    <Link to="/$environment/live/$liveStreamId" params={{ environment, liveStreamId: id }}>
      {name}
    </Link>
  )
}

function Facts({ viewing: { device, os, client, location, referrer } }: { viewing: ViewerSession }) {
  const join = (...parts: (string | null)[]) => parts.filter(Boolean).join(' ')
  const link = referrer.url ? safeLink(referrer.url) : undefined
  const facts = [
    device.type && labelOf('device', device.type.toLowerCase()),
    join(device.vendor, device.model),
    join(os.name, os.version),
    join(client.name, client.version),
    location.country && labelOf('country', location.country),
  ].filter(Boolean)
  return (
    <>
      {facts.map((fact) => (
        <span key={fact}>{fact}</span>
      ))}
      {link ? (
        <a className={styles.referrer} href={link} target="_blank" rel="noreferrer">
          {referrer.url}
        </a>
      ) : (
        referrer.url && <span className={styles.referrer}>{referrer.url}</span>
      )}
    </>
  )
}
