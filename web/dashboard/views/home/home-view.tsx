import { useQuery } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { newestVideosQuery } from '../../api/home.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { lazyWithRetry } from '../../ui/load-with-retry.ts'
import { Page } from '../../ui/page.tsx'
import { ErrorState, Loading } from '../../ui/states.tsx'

// There is either this or the steps.
const Overview = lazyWithRetry(() => import('./overview.tsx'))
const GetStarted = lazyWithRetry(() => import('./get-started.tsx'))

const recentCount = 8

/** The first steps while there is no video, and an overview later. The steps can be opened again. */
export function HomeView() {
  const recent = useQuery(newestVideosQuery(useEnvironment(), recentCount))
  // Decided once, so that the steps stay open while the first video is added.
  const [isOpen, setOpen] = useState<boolean>()
  const isFirst = recent.data?.pagination.itemsTotal === 0
  const playable = recent.data?.data.find(({ status }) => status.playable)
  const isStarting = isFirst || isOpen === true
  if (isOpen === undefined && recent.data) setOpen(isFirst)
  return (
    <Page
      title={isStarting ? messages.home.title : messages.home.overviewTitle}
      intro={isStarting && messages.home.intro}
      actions={
        recent.data &&
        !isFirst && (
          <Button aria-expanded={isStarting} onClick={() => setOpen(!isStarting)}>
            {isStarting ? messages.home.hideSteps : messages.home.steps}
          </Button>
        )
      }
    >
      {recent.data ? (
        <div className="stack">
          {isStarting && (
            <Suspense fallback={<Loading />}>
              <GetStarted newest={(playable ?? recent.data.data[0])?.videoId} />
            </Suspense>
          )}
          {!isFirst && (
            <Suspense fallback={<Loading />}>
              <Overview recent={recent.data.data} />
            </Suspense>
          )}
        </div>
      ) : recent.error ? (
        <ErrorState error={recent.error} onRetry={() => recent.refetch()} />
      ) : (
        <Loading />
      )}
    </Page>
  )
}
