import { useState } from 'react'
import type { Webhook } from '../../../api/webhooks.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { Code } from '../../../ui/code.tsx'
import { CopyButton } from '../../../ui/copy-button.tsx'
import { formatDateTime } from '../../../ui/format.ts'
import { Panel } from '../../../ui/panel.tsx'
import { RotateDialog } from './rotate-dialog.tsx'
import styles from './secret-panel.module.css'

/** The secrets are hidden until somebody asks for them. They can be copied without showing them. */
export function SecretPanel({ webhook }: { webhook: Webhook }) {
  const [isShown, setShown] = useState(false)
  const [isRotating, setRotating] = useState(false)
  const { signatureSecret, standardSecret, previousSecretValidUntil: until } = webhook
  return (
    <Panel
      title={messages.webhooks.secret}
      actions={
        <>
          <Button aria-pressed={isShown} icon="eye" onClick={() => setShown(!isShown)}>
            {isShown ? messages.webhooks.hideSecret : messages.webhooks.showSecret}
          </Button>
          <Button icon="reload" onClick={() => setRotating(true)}>
            {messages.webhooks.rotate}
          </Button>
        </>
      }
    >
      <p className="muted">{messages.webhooks.secretIntro}</p>
      <dl className={styles.list}>
        <Secret label={messages.webhooks.signatureSecret} value={signatureSecret} isShown={isShown} />
        <Secret label={messages.webhooks.standardSecret} value={standardSecret} isShown={isShown} />
      </dl>
      {until && <p className="muted">{messages.webhooks.previousUntil(formatDateTime(until))}</p>}
      <RotateDialog isOpen={isRotating} onClose={() => setRotating(false)} webhookId={webhook.webhookId} />
    </Panel>
  )
}

function Secret({ label, value, isShown }: { label: string; value: string; isShown: boolean }) {
  return (
    <div className={styles.secret}>
      <dt>{label}</dt>
      <dd>
        {isShown ? (
          <Code code={value} label={label} />
        ) : (
          <>
            <span className={styles.hidden} aria-hidden="true">
              ••••••••••••••••
            </span>
            <span className="visually-hidden">{messages.webhooks.hidden}</span>
          </>
        )}
        <CopyButton text={value} isIcon label={`${messages.webhooks.copySecret}: ${label}`} />
      </dd>
    </div>
  )
}
