import { Link } from '@tanstack/react-router'
import { memo } from 'react'
import { texts } from '../texts/texts.ts'
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
  const { name, size, sent, state, message } = upload
  const isMoving = state === 'uploading' || state === 'paused' || state === 'interrupted'
  return (
    <li className={styles.row}>
      <div className={styles.name}>
        <Name upload={upload} />
      </div>
      <Actions upload={upload} />
      {isMoving && (
        <div className={styles.bar}>
          <Progress share={sent / size} label={texts.upload.progress(name)} />
        </div>
      )}
      <div className={classNames(styles.facts, state === 'failed' && styles.bad)}>
        {message ? <span role="alert">{message}</span> : factsOf(upload)}
      </div>
    </li>
  )
})

function Name({ upload: { name, environment, videoId, state } }: { upload: Upload }) {
  if (!videoId || (state !== 'ready' && state !== 'processing')) return <bdi title={name}>{name}</bdi>
  return (
    <Link to="/$environment/videos/$videoId" params={{ environment, videoId }} title={name}>
      <bdi>{name}</bdi>
    </Link>
  )
}

function factsOf({ state, needs, sent, size, bytesPerSecond, secondsLeft }: Upload): string {
  const { upload } = texts
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
  const labelled = (action: string) => `${action}: ${name}`
  const isOver = state === 'ready' || state === 'processing'
  const canResume = needs !== 'file' && (state === 'paused' || state === 'interrupted')
  return (
    <div className={styles.actions}>
      {needs === 'file' && (
        <Button aria-label={labelled(texts.upload.selectAgain)} onClick={() => selectAgain(id)}>
          {texts.upload.selectAgain}
        </Button>
      )}
      {(state === 'uploading' || state === 'waiting') && (
        <IconButton icon="pause" label={labelled(texts.upload.pause)} onClick={() => uploads.pause(id)} />
      )}
      {canResume && (
        <IconButton icon="play" label={labelled(texts.upload.resume)} onClick={() => uploads.resume(id)} />
      )}
      {state === 'failed' && canRetry && (
        <IconButton icon="reload" label={labelled(texts.actions.retry)} onClick={() => uploads.resume(id)} />
      )}
      {isOver || state === 'failed' ? (
        <IconButton icon="close" label={labelled(texts.upload.dismiss)} onClick={() => uploads.dismiss(id)} />
      ) : (
        <IconButton
          icon="close"
          label={labelled(texts.upload.cancel)}
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
