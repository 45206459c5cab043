import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Video } from '../../../../api/types.ts'
import { type Details, detailsOf, updateVideo, videoQuery } from '../../../../api/video.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { SaveBar } from '../../../../draft/save-bar.tsx'
import { useDraft } from '../../../../draft/use-draft.ts'
import { MetadataEditor, metadataProblem, withoutEmpty } from '../../../../fields/metadata-editor.tsx'
import { ThemeField } from '../../../../fields/theme-field.tsx'
import { messages } from '../../../../messages/messages.ts'
import { CheckField, TextArea, TextField } from '../../../../ui/field.tsx'
import { Form } from '../../../../ui/form.tsx'
import { showToast } from '../../../../ui/toast-list.ts'
import { AccessField } from './access-field.tsx'
import styles from './details-tab.module.css'
import { LanguageField } from './language-field.tsx'
import { PlayableField } from './playable-field.tsx'
import { TagInput } from './tag-input.tsx'

const words = messages.video.details
const labels: Record<keyof Details, string> = {
  title: words.title,
  description: words.description,
  tags: words.tags,
  metadata: messages.metadata.title,
  public: words.access,
  panoramic: words.panoramic,
  mp4Support: words.mp4,
  playableDuringUpload: words.playable.title,
  language: words.language,
  playerId: messages.themes.one,
}

function useDetails(video: Video) {
  const environment = useEnvironment()
  const client = useQueryClient()
  return useDraft({
    query: videoQuery(environment, video.videoId),
    data: video,
    valuesOf: detailsOf,
    store: (change) => updateVideo(environment, video.videoId, withoutEmpty(change)),
    onSaved: () => {
      showToast(words.saved)
      void client.invalidateQueries({ queryKey: [environment, 'videos', 'list'] })
    },
  })
}

/** `isComplete`: all of the file has arrived. */
export function DetailsTab({ video, isComplete }: { video: Video; isComplete: boolean }) {
  const environment = useEnvironment()
  const form = useDetails(video)
  const { typed, set, errorOf } = form
  return (
    <Form
      onSubmit={() => {
        if (metadataProblem(typed.metadata) === undefined) form.save()
      }}
    >
      <TextField
        label={words.title}
        maxLength={1_000}
        dir="auto"
        value={typed.title}
        error={errorOf('title')}
        onChange={(event) => set({ title: event.target.value })}
      />
      <TextArea
        label={words.description}
        maxLength={20_000}
        dir="auto"
        rows={4}
        value={typed.description}
        error={errorOf('description')}
        onChange={(event) => set({ description: event.target.value })}
      />
      <TagInput tags={typed.tags} error={errorOf('tags')} onChange={(tags) => set({ tags })} />
      <AccessField
        videoId={video.videoId}
        isPublic={typed.public}
        onChange={(isPublic) => set({ public: isPublic })}
      />
      <div className={styles.pair}>
        <ThemeField
          playerId={typed.playerId}
          hint={
            <Link to="/$environment/themes" params={{ environment }}>
              {words.editThemes}
            </Link>
          }
          error={errorOf('playerId')}
          onChange={(playerId) => set({ playerId })}
        />
        <LanguageField
          language={typed.language}
          error={errorOf('language')}
          onChange={(language) => set({ language })}
        />
        <CheckField
          label={words.panoramic}
          hint={words.panoramicHint}
          checked={typed.panoramic}
          onChange={(event) => set({ panoramic: event.target.checked })}
        />
        <CheckField
          label={words.mp4}
          hint={words.mp4Hint}
          checked={typed.mp4Support}
          onChange={(event) => set({ mp4Support: event.target.checked })}
        />
        {!isComplete && (
          <PlayableField
            isPlayable={typed.playableDuringUpload}
            error={errorOf('playableDuringUpload')}
            onChange={(playableDuringUpload) => set({ playableDuringUpload })}
          />
        )}
      </div>
      <MetadataEditor
        metadata={typed.metadata}
        error={errorOf('metadata')}
        onChange={(metadata) => set({ metadata })}
      />
      <SaveBar form={form} labels={labels} />
    </Form>
  )
}
