import { useInfiniteQuery } from '@tanstack/react-query'
import type { Event } from '../../../../api/schemas.ts'
import { videoEventsQuery } from '../../../../api/video.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { messages } from '../../../../messages/messages.ts'
import { Button } from '../../../../ui/button.tsx'
import { CodeBlock } from '../../../../ui/code-block.tsx'
import { EmptyState, ErrorState, ErrorText, Loading } from '../../../../ui/states.tsx'
import { Time } from '../../../../ui/time.tsx'
import styles from './events-tab.module.css'

const words = messages.video.events

export function EventsTab({ videoId }: { videoId: string }) {
  const environment = useEnvironment()
  const events = useInfiniteQuery(videoEventsQuery(environment, videoId))
  if (events.isPending) return <Loading />
  if (!events.data) return <ErrorState error={events.error} onRetry={() => events.refetch()} />
  const rows = events.data.pages.flatMap(({ data }) => data)
  if (rows.length === 0)
    return (
      <EmptyState icon="clock" title={words.emptyTitle}>
        {words.empty}
      </EmptyState>
    )
  return (
    <div className={styles.tab}>
      <p className="muted">{words.intro}</p>
      <ol className={styles.events}>
        {rows.map(({ eventId, type, emittedAt, payload }) => (
          <li key={eventId}>
            <details className={styles.event}>
              <summary>
                <code>{type}</code>
                <span className={styles.subject}>{subjectOf(payload)}</span>
                <Time value={emittedAt} />
              </summary>
              <CodeBlock code={JSON.stringify(payload, null, 2)} language="json" />
            </details>
          </li>
        ))}
      </ol>
      {events.error && <ErrorText error={events.error} />}
      {events.hasNextPage && (
        <div>
          <Button disabled={events.isFetchingNextPage} onClick={() => void events.fetchNextPage()}>
            {words.more}
          </Button>
        </div>
      )}
    </div>
  )
}

/** What tells an event from others of its type: the quality, the language or the reason. */
function subjectOf({ encoding, quality, language, failure }: Event['payload']): string {
  if (typeof quality === 'string') return `${quality} ${String(encoding).toUpperCase()}`
  return [language, failure].find((each) => typeof each === 'string') ?? ''
}
