import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useSession } from '../../../../api/session.ts'
import type { Video, VideoStatus } from '../../../../api/types.ts'
import { updateVideo } from '../../../../api/video.ts'
import { statusQuery } from '../../../../api/video-status.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { messages } from '../../../../messages/messages.ts'
import { Badge } from '../../../../ui/badge.tsx'
import { Button } from '../../../../ui/button.tsx'
import { Panel } from '../../../../ui/panel.tsx'
import { Progress } from '../../../../ui/progress.tsx'
import { ErrorText } from '../../../../ui/states.tsx'
import { showToast } from '../../../../ui/toast-list.ts'
import { languageName } from '../details/languages.ts'
import { NotConfigured } from './not-configured.tsx'
import { SummaryPanel } from './summary-panel.tsx'
import styles from './transcript-tab.module.css'

const words = messages.video.transcript
const variants = {
  waiting: 'plain',
  running: 'info',
  completed: 'good',
  failed: 'bad',
  unprocessable: 'warn',
} as const

export function TranscriptTab({ video, status }: { video: Video; status: VideoStatus }) {
  const { transcript } = status
  return (
    <div className="stack">
      <Panel
        title={words.title}
        actions={
          transcript && <Badge variant={variants[transcript.status]}>{words[transcript.status]}</Badge>
        }
      >
        <TranscriptState videoId={video.videoId} transcript={transcript} />
      </Panel>
      <SummaryPanel videoId={video.videoId} hasTranscript={transcript?.status === 'completed'} />
    </div>
  )
}

type TranscriptStateProps = { videoId: string; transcript: VideoStatus['transcript'] }

function TranscriptState({ videoId, transcript }: TranscriptStateProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const { canTranscribe } = useSession()
  const request = useMutation({
    mutationFn: () => updateVideo(environment, videoId, { transcript: true }),
    onSuccess: async () => {
      showToast(words.requested)
      await client.invalidateQueries(statusQuery(environment, videoId))
    },
  })
  const isOver = transcript?.status === 'failed' || transcript?.status === 'unprocessable'
  return (
    <>
      {!transcript && <p className="muted">{words.none}</p>}
      {transcript?.status === 'running' && (
        <Progress fraction={transcript.progress / 100} label={words.progress} />
      )}
      {transcript?.failure && <p className={styles.failure}>{transcript.failure}</p>}
      {transcript?.status === 'completed' && (
        <p>
          {words.completedText(languageName(transcript.language ?? ''))}{' '}
          <Link to="." search={{ tab: 'captions' }}>
            {words.showCaptions}
          </Link>
        </p>
      )}
      {request.error && <ErrorText error={request.error} />}
      {(!transcript || isOver) && (
        <>
          {!canTranscribe && <NotConfigured>{words.notConfigured}</NotConfigured>}
          <div>
            <Button disabled={request.isPending || !canTranscribe} onClick={() => request.mutate()}>
              {transcript ? words.again : words.generate}
            </Button>
          </div>
        </>
      )}
    </>
  )
}
