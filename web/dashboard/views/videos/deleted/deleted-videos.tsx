import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { discardedQuery } from '../../../api/videos.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { useRestoreTime } from '../../../app/restore-time.ts'
import { messages } from '../../../messages/messages.ts'
import { Pager } from '../../../ui/pager.tsx'
import { EmptyState, ErrorState, Loading } from '../../../ui/states.tsx'
import { Table } from '../../../ui/table.tsx'
import { Time } from '../../../ui/time.tsx'
import { titleOf } from '../../../ui/title-of.ts'
import { DeletedActions } from './deleted-actions.tsx'
import { RemoveAll } from './remove-all.tsx'

/** Deleted videos until they are permanently deleted. */
export default function DeletedVideos() {
  const environment = useEnvironment()
  const restoreTime = useRestoreTime()
  const [page, setPage] = useState(1)
  const videos = useQuery(discardedQuery(environment, page))
  const t = messages.videos.deleted
  if (videos.isPending) return <Loading />
  if (!videos.data) return <ErrorState error={videos.error} onRetry={() => videos.refetch()} />
  const { data, pagination } = videos.data
  // The last video of the page was restored or deleted.
  if (data.length === 0 && page > 1) setPage(1)
  return (
    <>
      <RemoveAll total={pagination.itemsTotal}>{restoreTime && t.kept(restoreTime)}</RemoveAll>
      {data.length === 0 ? (
        <EmptyState icon="trash" title={t.emptyTitle}>
          {restoreTime && t.empty(restoreTime)}
        </EmptyState>
      ) : (
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
              cell: (video) => <DeletedActions video={video} />,
            },
          ]}
        />
      )}
      <Pager page={page} pagination={pagination} onChange={setPage} />
    </>
  )
}
