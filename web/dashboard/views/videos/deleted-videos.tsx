import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type DiscardedVideo, discardedQuery, restoreVideo } from '../../api/videos.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { Pager } from '../../ui/pager.tsx'
import { EmptyState, ErrorState, Loading } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { titleOf } from '../../ui/title-of.ts'
import { showError, showToast } from '../../ui/toast-list.ts'

/** Deleted videos until they are permanently deleted. */
export default function DeletedVideos() {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [page, setPage] = useState(1)
  const videos = useQuery(discardedQuery(environment, page))
  const [restoring, setRestoring] = useState<string>()
  const t = messages.videos.deleted
  const restore = async (video: DiscardedVideo) => {
    setRestoring(video.videoId)
    try {
      await restoreVideo(environment, video.videoId)
      await client.invalidateQueries({ queryKey: [environment, 'videos'] })
      showToast(t.restored(titleOf(video.title)))
    } catch (error) {
      showError(error as Error)
    } finally {
      setRestoring(undefined)
    }
  }
  if (videos.isPending) return <Loading />
  if (!videos.data) return <ErrorState error={videos.error} onRetry={() => videos.refetch()} />
  const { data, pagination } = videos.data
  if (data.length === 0 && page === 1)
    return (
      <EmptyState icon="trash" title={t.emptyTitle}>
        {t.empty}
      </EmptyState>
    )
  return (
    <>
      <Table
        isMain
        label={t.title}
        rows={data}
        keyOf={({ videoId }) => videoId}
        columns={[
          { label: t.name, cell: (video) => <bdi>{titleOf(video.title)}</bdi> },
          { label: t.deletedAt, cell: ({ discardedAt }) => discardedAt && <Time value={discardedAt} /> },
          { label: t.deletesAt, cell: ({ deletesAt }) => deletesAt && <Time value={deletesAt} /> },
          {
            label: <span className="visually-hidden">{messages.actions.more}</span>,
            isNumber: true,
            cell: (video) => (
              <Button disabled={restoring === video.videoId} onClick={() => restore(video)}>
                {t.restore}
                <span className="visually-hidden"> {titleOf(video.title)}</span>
              </Button>
            ),
          },
        ]}
      />
      <Pager page={page} pagination={pagination} onChange={setPage} />
    </>
  )
}
