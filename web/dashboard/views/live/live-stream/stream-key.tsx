import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type LiveStream, liveStreamQuery, rotateStreamKey } from '../../../api/live-streams.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import styles from './stream-panels.module.css'

export const maskedKey = '••••••••••••••••'

type StreamKeyProps = {
  stream: LiveStream
  isOnAir: boolean
  isShown: boolean
  onShow(isShown: boolean): void
}

/** The secret of the encoder. It can be copied without being on the screen. */
export function StreamKey({ stream, isOnAir, isShown, onShow }: StreamKeyProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [isRotating, setRotating] = useState(false)
  const { liveStreamId, streamKey } = stream
  return (
    <div className={styles.labelled}>
      <h3>{messages.live.streamKey}</h3>
      <CodeBlock code={streamKey} shown={isShown ? streamKey : maskedKey} label={messages.live.copyKey} />
      <p className="secondary">{messages.live.streamKeyHint}</p>
      <div className={styles.row}>
        <Button icon="eye" onClick={() => onShow(!isShown)}>
          {isShown ? messages.live.hideKey : messages.live.showKey}
        </Button>
        <Button icon="reload" onClick={() => setRotating(true)}>
          {messages.live.rotate}
        </Button>
      </div>
      <ConfirmDialog
        isOpen={isRotating}
        onClose={() => setRotating(false)}
        title={messages.live.rotateTitle}
        description={
          <>
            <p>{messages.live.rotateText}</p>
            {isOnAir && <p className={styles.notice}>{messages.live.rotateOnAir}</p>}
          </>
        }
        action={messages.live.rotate}
        onConfirm={async () => {
          const next = await rotateStreamKey(environment, liveStreamId)
          client.setQueryData(liveStreamQuery(environment, liveStreamId).queryKey, next)
          showToast(messages.live.rotated)
        }}
      />
    </div>
  )
}
