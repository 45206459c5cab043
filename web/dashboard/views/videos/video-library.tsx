import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import type { Page } from '../../api/types.ts'
import { type ListedVideo, maxFound, type VideoFilters, videosQuery } from '../../api/videos.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { lazyWithRetry, loadWithRetry } from '../../ui/load-with-retry.ts'
import { EmptyState, ErrorState, Loading } from '../../ui/states.tsx'
import { FilterChips } from './filters/filter-chips.tsx'
import { filtersOf, isFiltered, type VideoSearch } from './filters/search-params.ts'
import { Toolbar } from './filters/toolbar.tsx'
import { type Layout, readLayout, rememberLayout } from './list/layout.ts'
import { useSelection } from './list/selection.ts'
import styles from './video-library.module.css'

const loadGrid = () => import('./list/video-grid.tsx')
const VideoGrid = lazyWithRetry(loadGrid)
// Together with the videos, not after them.
void loadWithRetry(loadGrid)
const BulkBar = lazyWithRetry(() => import('./bulk/bulk-bar.tsx'))

type VideoLibraryProps = { search: VideoSearch; onSearch(next: VideoSearch): void; onUpload(): void }

/** The videos that match the search. */
export function VideoLibrary({ search, onSearch, onUpload }: VideoLibraryProps) {
  const [layout, setLayout] = useState(readLayout)
  const changeLayout = (next: Layout) => {
    rememberLayout(next)
    setLayout(next)
  }
  return (
    <>
      <div className={styles.tools}>
        <Toolbar search={search} onSearch={onSearch} layout={layout} onLayout={changeLayout} />
        <FilterChips search={search} onSearch={onSearch} />
      </div>
      <Results search={search} onSearch={onSearch} onUpload={onUpload} layout={layout} />
    </>
  )
}

function Results({ search, onSearch, onUpload, layout }: VideoLibraryProps & { layout: Layout }) {
  const environment = useEnvironment()
  const filters = filtersOf(search)
  const start = useQuery(videosQuery(environment, filters, 0))
  const shown = useLastLoaded(filters, start.data?.pagination.itemsTotal)
  if (start.error && !start.data) return <ErrorState error={start.error} onRetry={() => start.refetch()} />
  if (!shown) return <Loading />
  if (start.data && shown.total === 0) {
    return isFiltered(search) ? (
      <EmptyState
        icon="search"
        title={messages.videos.nothingFound}
        actions={<Button onClick={() => onSearch({})}>{messages.videos.clearFilters}</Button>}
      >
        {messages.videos.nothingFoundHint}
      </EmptyState>
    ) : (
      <EmptyState
        icon="video"
        title={messages.videos.emptyTitle}
        actions={
          <Button variant="primary" icon="upload" onClick={onUpload}>
            {messages.upload.upload}
          </Button>
        }
      >
        {messages.videos.empty}
      </EmptyState>
    )
  }
  return <Found {...shown} isOld={!start.data} layout={layout} />
}

type Shown = { filters: VideoFilters; total: number }

/** What was found last stays until the result of the next search has arrived. */
function useLastLoaded(filters: VideoFilters, total: number | undefined): Shown | undefined {
  const [shown, setShown] = useState<Shown>()
  if (total === undefined) return shown
  if (shown?.total === total && JSON.stringify(shown.filters) === JSON.stringify(filters)) return shown
  setShown({ filters, total })
  return { filters, total }
}

function Found({ filters, total, isOld, layout }: Shown & { isOld: boolean; layout: Layout }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const selection = useSelection(total, JSON.stringify(filters))
  // Stays afterwards, because an action may still run.
  const [wasSelected, setSelected] = useState(false)
  if (selection.count > 0 && !wasSelected) setSelected(true)
  const selectLoaded = () => {
    const queryKey = [environment, 'videos', 'list', filters]
    const pages = client.getQueriesData<Page<ListedVideo>>({ queryKey })
    selection.add(pages.flatMap(([, page]) => page?.data.map(({ videoId }) => videoId) ?? []))
  }
  const { tags = [], sortBy: _by, sortOrder: _order, ...others } = filters
  const isCounted = tags.length < 2 && Object.values(others).every((value) => value === undefined)
  const isCapped = !isCounted && total >= maxFound
  const count = (isCapped ? messages.videos.countCapped : messages.videos.count)(total)
  return (
    <div className={styles.found} data-old={isOld} aria-busy={isOld}>
      <p className="secondary" role="status">
        {count}
      </p>
      <Suspense fallback={<Loading />}>
        <VideoGrid filters={filters} total={total} layout={layout} selection={selection} />
      </Suspense>
      <Suspense>
        {wasSelected && (
          <BulkBar filters={filters} total={total} selection={selection} onSelectLoaded={selectLoaded} />
        )}
      </Suspense>
    </div>
  )
}
