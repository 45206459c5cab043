import type { ReactNode } from 'react'
import { messages } from '../../../../messages/messages.ts'

/** Why a button is disabled, and what the operator can do. */
export const NotConfigured = ({ children }: { children: ReactNode }) => (
  <p className="muted">
    {children}{' '}
    <a href="/docs/guides/transcripts" target="_blank" rel="noreferrer">
      {messages.video.transcript.setUp}
    </a>
  </p>
)
