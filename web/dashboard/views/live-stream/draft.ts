import { useState } from 'react'
import type { LiveStream } from '../../api/live-streams.ts'
import { changedFields } from './save-live-stream.ts'

const fields = ['name', 'public', 'record', 'showViewers', 'playerId', 'metadata'] as const
export type Draft = Pick<LiveStream, (typeof fields)[number]>

const draftOf = (stream: LiveStream): Draft => ({
  name: stream.name,
  public: stream.public,
  record: stream.record,
  showViewers: stream.showViewers,
  playerId: stream.playerId,
  metadata: stream.metadata,
})

/** What is being edited, and what it was when that began. What is not being edited follows the server. */
export function useDraft(stream: LiveStream) {
  const [base, setBase] = useState(stream)
  const [draft, setDraft] = useState(() => draftOf(stream))
  const edited = changedFields(base, { ...base, ...draft }, [...fields])
  const unedited = fields.filter((field) => !edited.includes(field))
  const followed = changedFields(base, stream, unedited)
  if (followed.length > 0) {
    const theirs = Object.fromEntries(followed.map((field) => [field, stream[field]]))
    setBase({ ...base, ...theirs })
    setDraft({ ...draft, ...theirs })
  }
  return {
    base,
    draft,
    edited,
    /** Another window has changed what is being edited. */
    isConflict: changedFields(base, stream, edited).length > 0,
    set: (change: Partial<Draft>) => setDraft((current) => ({ ...current, ...change })),
    reset: (to: LiveStream) => {
      setBase(to)
      setDraft(draftOf(to))
    },
    /** What was typed while the draft was being saved stays. */
    accept: (saved: LiveStream, sent: Draft) => {
      setBase(saved)
      setDraft((now) => {
        const typed = fields.filter((field) => now[field] !== sent[field])
        return { ...draftOf(saved), ...Object.fromEntries(typed.map((field) => [field, now[field]])) }
      })
    },
  }
}
