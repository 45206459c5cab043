import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type LiveStream, liveStreamQuery, rotateStreamKey } from '../../../api/live-streams.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { texts } from '../../../texts/texts.ts'
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
      <h3>{texts.live.streamKey}</h3>
      <CodeBlock code={streamKey} shown={isShown ? streamKey : maskedKey} label={texts.live.copyKey} />
      <p className={styles.hint}>{texts.live.streamKeyHint}</p>
      <div className={styles.row}>
        <Button icon="eye" onClick={() => onShow(!isShown)}>
          {isShown ? texts.live.hideKey : texts.live.showKey}
        </Button>
        <Button icon="reload" onClick={() => setRotating(true)}>
          {texts.live.rotate}
        </Button>
      </div>
      <ConfirmDialog
        isOpen={isRotating}
        onClose={() => setRotating(false)}
        title={texts.live.rotateTitle}
        description={
          <>
            <p>{texts.live.rotateText}</p>
            {isOnAir && <p className={styles.notice}>{texts.live.rotateOnAir}</p>}
          </>
        }
        action={texts.live.rotate}
        onConfirm={async () => {
          const next = await rotateStreamKey(environment, liveStreamId)
          client.setQueryData(liveStreamQuery(environment, liveStreamId).queryKey, next)
          showToast(texts.live.rotated)
        }}
      />
    </div>
  )
}
