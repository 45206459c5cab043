import { useState } from 'react'
import type { Track, TrackKind } from '../../../../api/tracks.ts'
import { messages } from '../../../../messages/messages.ts'
import { Button } from '../../../../ui/button.tsx'
import { Dialog, DialogActions } from '../../../../ui/dialog.tsx'
import { Form } from '../../../../ui/form.tsx'
import { languageName } from '../details/languages.ts'
import { LanguageTagField } from './language-tag-field.tsx'

const words = messages.video.tracks

type CreateTrackDialogProps = {
  kind: TrackKind
  tracks: Track[]
  suggestion: string
  onClose(): void
  onCreate(language: string): void
}

/** Chooses the language of a file that is written in the editor. */
export function CreateTrackDialog({ kind, tracks, suggestion, onClose, onCreate }: CreateTrackDialogProps) {
  const isTaken = (tag: string) =>
    tracks.some((track) => track.language.toLowerCase() === tag.trim().toLowerCase())
  const [language, setLanguage] = useState(isTaken(suggestion) ? '' : suggestion)
  const error = isTaken(language) ? words.exists(languageName(language)) : undefined
  return (
    <Dialog isOpen onClose={onClose} title={words[kind].create}>
      <Form
        onSubmit={() => {
          if (!error) onCreate(language.trim())
        }}
      >
        <LanguageTagField value={language} error={error} onChange={setLanguage} />
        <DialogActions>
          <Button onClick={onClose}>{messages.actions.cancel}</Button>
          <Button variant="primary" type="submit">
            {words.begin}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
