import { useState } from 'react'
import type { TagChange } from '../../../api/videos.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog, DialogActions } from '../../../ui/dialog.tsx'
import { TextField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
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
    <Dialog isOpen={isOpen} onClose={close} title={t.tagsTitle(count)} description={t.tagsHint}>
      <Form
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
        <DialogActions>
          <Button onClick={close}>{messages.actions.cancel}</Button>
          <Button
            variant="primary"
            type="submit"
            disabled={isTooLong || change.add.length + change.remove.length === 0}
          >
            {messages.actions.save}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
