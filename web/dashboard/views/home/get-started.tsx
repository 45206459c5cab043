import { useQuery } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { videoQuery } from '../../api/video.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { lazyWithRetry } from '../../ui/load-with-retry.ts'
import { useUploads } from '../../upload/uploads.ts'
import styles from './get-started.module.css'
import { KeyStep } from './key-step.tsx'
import { Step } from './step.tsx'
import { VideoStep } from './video-step.tsx'

// Nobody needs them at first sight.
const CodeStep = lazyWithRetry(() => import('./code-step.tsx'))
const EmbedStep = lazyWithRetry(() => import('./embed-step.tsx'))

/** The steps to the first video on a page. `newest` is the newest video that plays, for somebody who comes back. */
export default function GetStarted({ newest }: { newest: string | undefined }) {
  const environment = useEnvironment()
  // The key is only in the memory of this page.
  const [apiKey, setApiKey] = useState<string>()
  const [fetched, setFetched] = useState<{ videoId: string; lastUpload: string | undefined }>()
  const last = useUploads(environment).at(-1)
  // A later upload replaces it.
  const isFetched = fetched !== undefined && fetched.lastUpload === last?.id
  const upload = isFetched ? undefined : last
  const videoId = isFetched ? fetched.videoId : upload ? upload.videoId : newest
  const video = useQuery({ ...videoQuery(environment, videoId ?? ''), enabled: videoId !== undefined })
  return (
    <div className={styles.steps}>
      <div className="stack">
        <KeyStep apiKey={apiKey} onCreate={setApiKey} />
        <VideoStep
          upload={upload}
          videoId={videoId}
          video={video.data}
          onFetch={(id) => setFetched({ videoId: id, lastUpload: last?.id })}
        />
      </div>
      <div className="stack">
        <Step number={3} title={messages.home.embed} isDone={false}>
          {video.data ? (
            <Suspense>
              <EmbedStep video={video.data} />
            </Suspense>
          ) : (
            <p className="muted">{messages.home.embedLater}</p>
          )}
        </Step>
        <Suspense>
          <CodeStep apiKey={apiKey} />
        </Suspense>
      </div>
    </div>
  )
}
