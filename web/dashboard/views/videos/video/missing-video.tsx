import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useSession } from '../../../api/session.ts'
import { discardedVideoQuery } from '../../../api/video.ts'
import { restoreVideo } from '../../../api/videos.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { texts } from '../../../texts/texts.ts'
import { Button, buttonClass } from '../../../ui/button.tsx'
import { formatRelative } from '../../../ui/format.ts'
import { Page } from '../../../ui/page.tsx'
import { EmptyState, ErrorText, Loading } from '../../../ui/states.tsx'

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
      {texts.states.toVideos}
    </Link>
  )
  if (!video)
    return (
      <Page title={texts.navigation.videos}>
        <EmptyState icon="video" title={texts.states.notFoundTitle} actions={back}>
          {texts.states.notFound}
        </EmptyState>
      </Page>
    )
  return (
    <Page title={video.title || texts.video.untitled}>
      <EmptyState
        icon="trash"
        title={texts.video.remove.deletedTitle}
        actions={
          <>
            <Button look="primary" onClick={restore}>
              {texts.video.remove.restore}
            </Button>
            {back}
          </>
        }
      >
        {video.deletesAt && texts.video.deletesAt(formatRelative(video.deletesAt))}
        {error && <ErrorText error={error} />}
      </EmptyState>
    </Page>
  )
}
