import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { ApiProblem } from '../../../api/problem.ts'
import { videoQuery } from '../../../api/video.ts'
import { statusQuery } from '../../../api/video-status.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Page } from '../../../ui/page.tsx'
import { ErrorState, Loading } from '../../../ui/states.tsx'
import { MissingVideo } from './missing-video.tsx'
import { VideoPage } from './video-page.tsx'

export function VideoView() {
  const environment = useEnvironment()
  const { videoId } = useParams({ from: '/$environment/videos/$videoId' })
  const video = useQuery(videoQuery(environment, videoId))
  const status = useQuery(statusQuery(environment, videoId))
  // It may have been deleted in another tab.
  if (video.error instanceof ApiProblem && video.error.status === 404)
    return <MissingVideo key={videoId} videoId={videoId} />
  if (video.data && status.data)
    return <VideoPage key={videoId} video={video.data} status={status.data} loadedAt={video.dataUpdatedAt} />
  const error = video.error ?? status.error
  const retry = () => {
    void video.refetch()
    void status.refetch()
  }
  return (
    <Page title={messages.navigation.videos}>
      {error ? <ErrorState error={error} onRetry={retry} /> : <Loading />}
    </Page>
  )
}
