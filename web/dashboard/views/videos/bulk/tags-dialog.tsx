import { useState } from 'react'
import type { TagChange } from '../../../api/videos.ts'
import { messages } from '../../../messages/messages.ts'
import { TextField } from '../../../ui/field.tsx'
import { FormDialog } from '../../../ui/form-dialog.tsx'
import { TagSuggestions } from '../filters/tag-suggestions.tsx'

type TagsDialogProps = { isOpen: boolean; onClose(): void; count: number; onSave(change: TagChange): void }

const readTags = (text: string) => [
  ...new Set(
    text
      .split(',')
      .map((tag) => tag.trim())
      .filter(Boolean),
  ),
]

/** Adds tags to the selected videos and removes others. */
export function TagsDialog({ isOpen, onClose, count, onSave }: TagsDialogProps) {
  const [added, setAdded] = useState('')
  const [removed, setRemoved] = useState('')
  const change = { add: readTags(added), remove: readTags(removed) }
  const isTooLong = [...change.add, ...change.remove].some((tag) => tag.length > 255)
  const t = messages.videos.bulk
  const close = () => {
    setAdded('')
    setRemoved('')
    onClose()
  }
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={close}
      title={t.tagsTitle(count)}
      description={t.tagsHint}
      action={messages.actions.save}
      isDisabled={isTooLong || change.add.length + change.remove.length === 0}
      onSubmit={() => {
        onSave(change)
        close()
      }}
    >
      <TextField
        label={t.addTags}
        value={added}
        list="bulk-add"
        error={isTooLong ? t.tagTooLong : undefined}
        onChange={(event) => setAdded(event.target.value)}
      />
      <TagSuggestions id="bulk-add" typed={added} />
      <TextField
        label={t.removeTags}
        value={removed}
        list="bulk-remove"
        onChange={(event) => setRemoved(event.target.value)}
      />
      <TagSuggestions id="bulk-remove" typed={removed} />
    </FormDialog>
  )
}
