import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useSession } from '../../../api/session.ts'
import { discardedVideoQuery } from '../../../api/video.ts'
import { restoreVideo } from '../../../api/videos.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button, buttonClass } from '../../../ui/button.tsx'
import { formatRelative } from '../../../ui/format.ts'
import { Page } from '../../../ui/page.tsx'
import { EmptyState, ErrorText, Loading } from '../../../ui/states.tsx'
import { titleOf } from '../../../ui/title-of.ts'

/** There is no such video, or it was deleted and can be restored. */
export function MissingVideo({ videoId }: { videoId: string }) {
  const environment = useEnvironment()
  const { restoreHours } = useSession()
  const client = useQueryClient()
  const discarded = useQuery({ ...discardedVideoQuery(environment, videoId), enabled: restoreHours > 0 })
  const [error, setError] = useState<Error>()
  const restore = () =>
    restoreVideo(environment, videoId).then(
      () => client.invalidateQueries({ queryKey: [environment, 'videos', videoId] }),
      setError,
    )
  if (discarded.isLoading) return <Loading />
  const { data: video } = discarded
  const back = (
    <Link to="/$environment/videos" params={{ environment }} className={buttonClass()}>
      {messages.states.toVideos}
    </Link>
  )
  if (!video)
    return (
      <Page title={messages.navigation.videos}>
        <EmptyState icon="video" title={messages.states.notFoundTitle} actions={back}>
          {messages.states.notFound}
        </EmptyState>
      </Page>
    )
  return (
    <Page title={titleOf(video.title)}>
      <EmptyState
        icon="trash"
        title={messages.video.remove.deletedTitle}
        actions={
          <>
            <Button variant="primary" onClick={restore}>
              {messages.video.remove.restore}
            </Button>
            {back}
          </>
        }
      >
        {video.deletesAt && messages.video.deletesAt(formatRelative(video.deletesAt))}
        {error && <ErrorText error={error} />}
      </EmptyState>
    </Page>
  )
}
