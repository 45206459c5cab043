import type { Video } from '../../../api/types.ts'
import { LeaveGuard } from '../../../app/leave-guard.tsx'
import { texts } from '../../../texts/texts.ts'
import { Button } from '../../../ui/button.tsx'
import { CheckField, TextArea, TextField } from '../../../ui/field.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { AccessField } from './access-field.tsx'
import { ConflictNotice } from './conflict-notice.tsx'
import styles from './details-tab.module.css'
import { LanguageField } from './language-field.tsx'
import { MetadataEditor, metadataProblem } from './metadata-editor.tsx'
import { TagInput } from './tag-input.tsx'
import { ThemeField } from './theme-field.tsx'
import { type DetailsForm, useDetails } from './use-details.ts'

export function DetailsTab({ video }: { video: Video }) {
  const form = useDetails(video)
  const { typed, set, errorOf, save } = form
  const words = texts.video.details
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault()
        if (metadataProblem(typed.metadata) === undefined) save.mutate()
      }}
    >
      <ConflictNotice form={form} />
      <TextField
        label={words.title}
        maxLength={1_000}
        dir="auto"
        value={typed.title}
        error={errorOf('title')}
        onChange={(event) => set('title', event.target.value)}
      />
      <TextArea
        label={words.description}
        maxLength={20_000}
        dir="auto"
        rows={4}
        value={typed.description}
        error={errorOf('description')}
        onChange={(event) => set('description', event.target.value)}
      />
      <TagInput tags={typed.tags} error={errorOf('tags')} onChange={(tags) => set('tags', tags)} />
      <AccessField
        videoId={video.videoId}
        isPublic={typed.public}
        onChange={(isPublic) => set('public', isPublic)}
      />
      <div className={styles.pair}>
        <ThemeField
          playerId={typed.playerId}
          error={errorOf('playerId')}
          onChange={(playerId) => set('playerId', playerId)}
        />
        <LanguageField
          language={typed.language}
          error={errorOf('language')}
          onChange={(language) => set('language', language)}
        />
        <CheckField
          label={words.panoramic}
          hint={words.panoramicHint}
          checked={typed.panoramic}
          onChange={(event) => set('panoramic', event.target.checked)}
        />
        <CheckField
          label={words.mp4}
          hint={words.mp4Hint}
          checked={typed.mp4Support}
          onChange={(event) => set('mp4Support', event.target.checked)}
        />
      </div>
      <MetadataEditor
        metadata={typed.metadata}
        error={errorOf('metadata')}
        onChange={(metadata) => set('metadata', metadata)}
      />
      <SaveBar form={form} />
      <LeaveGuard isDirty={form.isDirty} />
    </form>
  )
}

function SaveBar({ form: { isDirty, save, discard } }: { form: DetailsForm }) {
  if (!isDirty && !save.error) return null
  return (
    <div className={styles.bar}>
      {save.error && <ErrorText error={save.error} />}
      <div className={styles.buttons}>
        <span className={styles.muted} role="status">
          {texts.video.details.unsaved}
        </span>
        <Button onClick={discard} disabled={save.isPending}>
          {texts.video.details.discard}
        </Button>
        <Button look="primary" type="submit" disabled={save.isPending}>
          {texts.actions.save}
        </Button>
      </div>
    </div>
  )
}
