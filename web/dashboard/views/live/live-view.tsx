import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback, useDeferredValue, useRef, useState } from 'react'
import { type LiveStream, liveStreamsQuery } from '../../api/live-streams.ts'
import { useCommand } from '../../app/commands.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { useListKeys } from '../../ui/list-keys.ts'
import { Page } from '../../ui/page.tsx'
import { EmptyState, ErrorState, Loading } from '../../ui/states.tsx'
import { CreateLiveDialog } from './create-live-dialog.tsx'
import { LiveCard } from './live-card.tsx'
import styles from './live-view.module.css'

export function LiveView() {
  const environment = useEnvironment()
  const [name, setName] = useState('')
  const search = useDeferredValue(name.trim())
  const streams = useInfiniteQuery({
    ...liveStreamsQuery(environment, search),
    // What was found before stays until the next result.
    placeholderData: (previous) => previous,
  })
  const [isCreating, setCreating] = useState(false)
  const create = useCallback(() => setCreating(true), [])
  useCommand({ id: 'live-create', label: messages.live.create, key: 'n', run: create })
  const found = streams.data?.pages.flatMap(({ data }) => data) ?? []
  const isEmpty = !streams.isPending && !streams.error && found.length === 0
  const createButton = (
    <Button variant="primary" icon="plus" onClick={create}>
      {messages.live.create}
    </Button>
  )
  return (
    <Page title={messages.live.title} intro={messages.live.intro} actions={createButton} isFull>
      {(!isEmpty || search !== '') && (
        <div className={styles.search}>
          <TextField
            type="search"
            data-search
            aria-keyshortcuts="/"
            label={<span className="visually-hidden">{messages.live.search}</span>}
            placeholder={messages.live.search}
            maxLength={500}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </div>
      )}
      {streams.isPending ? (
        <Loading />
      ) : streams.error && found.length === 0 ? (
        <ErrorState error={streams.error} onRetry={() => streams.refetch()} />
      ) : isEmpty ? (
        <Nothing isSearch={search !== ''} />
      ) : (
        <Cards streams={found} now={streams.dataUpdatedAt} />
      )}
      {streams.hasNextPage && (
        <div className={styles.more}>
          <Button disabled={streams.isFetchingNextPage} onClick={() => streams.fetchNextPage()}>
            {messages.live.more}
          </Button>
        </div>
      )}
      <CreateLiveDialog isOpen={isCreating} onClose={() => setCreating(false)} />
    </Page>
  )
}

const Nothing = ({ isSearch }: { isSearch: boolean }) =>
  isSearch ? (
    <EmptyState icon="search" title={messages.live.nothingFound} />
  ) : (
    <EmptyState icon="live" title={messages.live.emptyTitle}>
      {messages.live.empty}
    </EmptyState>
  )

function Cards({ streams, now }: { streams: LiveStream[]; now: number }) {
  const list = useRef<HTMLUListElement>(null)
  useListKeys(list, { isMain: true })
  return (
    <ul ref={list} className={styles.grid} aria-label={messages.live.list}>
      {streams.map((stream) => (
        <LiveCard key={stream.liveStreamId} stream={stream} now={now} />
      ))}
    </ul>
  )
}
