import { Link } from '@tanstack/react-router'
import { memo, type ReactNode } from 'react'
import { messages } from '../messages/messages.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { classNames } from '../ui/class-names.ts'
import { formatBytes, formatPercent, formatSpan } from '../ui/format.ts'
import { Progress } from '../ui/progress.tsx'
import { showError } from '../ui/toast-list.ts'
import { pickFiles } from './picked-files.ts'
import type { Upload } from './types.ts'
import styles from './upload-panel.module.css'
import { uploads } from './uploads.ts'

export const UploadRow = memo(function UploadRow({ upload }: { upload: Upload }) {
  const { name, size, sent, state, message, encoded, isPlayable } = upload
  const { bars } = messages.upload
  const isMoving = state === 'uploading' || state === 'paused' || state === 'interrupted'
  return (
    <li className={styles.row}>
      <div className={styles.name}>
        <Name upload={upload} />
      </div>
      <Actions upload={upload} />
      {isMoving && (
        <Bar
          text={encoded === undefined ? undefined : bars.upload}
          fraction={sent / size}
          label={messages.upload.progress(name)}
        />
      )}
      {encoded !== undefined && (isMoving || state === 'processing') && (
        <Bar text={bars.encoding} fraction={encoded} label={messages.upload.encodingProgress(name)} />
      )}
      <div className={classNames(styles.facts, state === 'failed' && styles.bad)}>
        {message ? <span role="alert">{message}</span> : factsOf(upload)}
        {(state === 'ready' || (isMoving && isPlayable)) && (
          <>
            {' · '}
            <VideoLink upload={upload} aria-label={labelled(messages.upload.watch, name)}>
              {messages.upload.watch}
            </VideoLink>
          </>
        )}
      </div>
    </li>
  )
})

/** Two bars need a text that tells which is which. */
function Bar({ text, fraction, label }: { text: string | undefined; fraction: number; label: string }) {
  return (
    <div className={styles.bar}>
      {text && <span className={styles.barText}>{text}</span>}
      <Progress fraction={fraction} label={label} />
    </div>
  )
}

function Name({ upload }: { upload: Upload }) {
  const { name, state } = upload
  if (!isOver(state)) return <bdi title={name}>{name}</bdi>
  return (
    <VideoLink upload={upload} title={name}>
      <bdi>{name}</bdi>
    </VideoLink>
  )
}

type VideoLinkProps = { upload: Upload; title?: string; 'aria-label'?: string; children: ReactNode }

function VideoLink({ upload: { environment, videoId }, ...props }: VideoLinkProps) {
  return <Link to="/$environment/videos/$videoId" params={{ environment, videoId: videoId! }} {...props} />
}

/** All bytes have arrived, so the video exists. */
const isOver = (state: Upload['state']) => state === 'ready' || state === 'processing'

const labelled = (action: string, name: string) => `${action}: ${name}`

function factsOf({ state, needs, sent, size, bytesPerSecond, secondsLeft }: Upload): string {
  const { upload } = messages
  if (needs === 'file') return upload.selectAgainHint
  if (needs === 'permission') return upload.continueHint
  if (state === 'waiting') return `${upload.states.waiting} · ${formatBytes(size)}`
  if (state === 'paused') return `${upload.states.paused} · ${formatPercent(sent / size)}`
  if (state !== 'uploading') return upload.states[state]
  return [
    upload.amount(formatBytes(sent), formatBytes(size)),
    bytesPerSecond && upload.speed(formatBytes(bytesPerSecond)),
    secondsLeft !== undefined && upload.timeLeft(formatSpan(secondsLeft)),
  ]
    .filter(Boolean)
    .join(' · ')
}

function Actions({ upload }: { upload: Upload }) {
  const { id, name, state, needs, canRetry } = upload
  const canResume = needs !== 'file' && (state === 'paused' || state === 'interrupted')
  return (
    <div className={styles.actions}>
      {needs === 'file' && (
        <Button aria-label={labelled(messages.upload.selectAgain, name)} onClick={() => selectAgain(id)}>
          {messages.upload.selectAgain}
        </Button>
      )}
      {(state === 'uploading' || state === 'waiting') && (
        <IconButton
          icon="pause"
          label={labelled(messages.upload.pause, name)}
          onClick={() => uploads.pause(id)}
        />
      )}
      {canResume && (
        <IconButton
          icon="play"
          label={labelled(messages.upload.resume, name)}
          onClick={() => uploads.resume(id)}
        />
      )}
      {state === 'failed' && canRetry && (
        <IconButton
          icon="reload"
          label={labelled(messages.actions.retry, name)}
          onClick={() => uploads.resume(id)}
        />
      )}
      {isOver(state) || state === 'failed' ? (
        <IconButton
          icon="close"
          label={labelled(messages.upload.dismiss, name)}
          onClick={() => uploads.dismiss(id)}
        />
      ) : (
        <IconButton
          icon="close"
          label={labelled(messages.upload.cancel, name)}
          onClick={() => uploads.cancel(id).catch(showError)}
        />
      )}
    </div>
  )
}

async function selectAgain(id: string): Promise<void> {
  const [picked] = await pickFiles({ multiple: false })
  if (picked) uploads.provideFile(id, picked)
}
