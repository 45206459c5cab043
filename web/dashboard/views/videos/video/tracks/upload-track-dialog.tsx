import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiProblem } from '../../../../api/problem.ts'
import {
  setDefaultCaptions,
  type Track,
  type TrackKind,
  tracksQuery,
  uploadTrack,
} from '../../../../api/tracks.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { messages } from '../../../../messages/messages.ts'
import { Button } from '../../../../ui/button.tsx'
import { Dialog, DialogActions } from '../../../../ui/dialog.tsx'
import { CheckField, TextField } from '../../../../ui/field.tsx'
import { Form } from '../../../../ui/form.tsx'
import { ErrorText } from '../../../../ui/states.tsx'
import { showToast } from '../../../../ui/toast-list.ts'
import { languageName } from '../details/languages.ts'
import { usePlayer } from '../player/use-player.ts'
import { LanguageTagField } from './language-tag-field.tsx'
import styles from './tracks.module.css'

const words = messages.video.tracks

type UploadTrackDialogProps = { videoId: string; kind: TrackKind; tracks: Track[]; onClose(): void }

export function UploadTrackDialog({ videoId, kind, tracks, onClose }: UploadTrackDialogProps) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const { reload } = usePlayer()
  const [language, setLanguage] = useState('')
  const [file, setFile] = useState<File>()
  const [isDefault, setDefault] = useState(false)
  const existing = tracks.find((track) => track.language.toLowerCase() === language.trim().toLowerCase())
  const upload = useMutation({
    mutationFn: async () => {
      if (!file) throw new ApiProblem(400, { title: words.fileMissing, name: 'file' })
      const id = { videoId, kind, language: language.trim() }
      await uploadTrack(environment, id, file)
      if (isDefault) await setDefaultCaptions(environment, id, true)
    },
    onSuccess: async () => {
      onClose()
      reload()
      showToast(words[kind].uploaded(languageName(language.trim())))
      await client.invalidateQueries(tracksQuery(environment, videoId, kind))
    },
  })
  const fields = upload.error instanceof ApiProblem ? upload.error.fields : {}
  return (
    <Dialog isOpen onClose={onClose} title={words.uploadTitle}>
      <Form onSubmit={() => upload.mutate()}>
        <LanguageTagField value={language} error={fields.language} onChange={setLanguage} />
        <TextField
          type="file"
          label={words.file}
          hint={words.fileHint}
          accept=".vtt,.srt,text/vtt,application/x-subrip"
          error={fields.file}
          onChange={(event) => setFile(event.target.files?.[0])}
        />
        {kind === 'captions' && (
          <CheckField
            label={words.makeDefault}
            hint={words.defaultHint}
            checked={isDefault}
            onChange={(event) => setDefault(event.target.checked)}
          />
        )}
        {existing && <p className={styles.warning}>{words.replaces(languageName(existing.language))}</p>}
        {upload.error && !fields.language && !fields.file && <ErrorText error={upload.error} />}
        <DialogActions>
          <Button onClick={onClose}>{messages.actions.cancel}</Button>
          <Button variant="primary" type="submit" disabled={upload.isPending}>
            {words.upload}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
