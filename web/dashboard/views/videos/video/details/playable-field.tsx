import { messages } from '../../../../messages/messages.ts'
import { SelectField } from '../../../../ui/field.tsx'

type PlayableFieldProps = {
  /** Null: who uploads decides. */
  isPlayable: boolean | null
  error: string | undefined
  onChange(isPlayable: boolean | null): void
}

/** Whether viewers may watch what has arrived before the upload is complete. */
export function PlayableField({ isPlayable, error, onChange }: PlayableFieldProps) {
  const words = messages.video.details.playable
  return (
    <SelectField
      label={words.title}
      hint={words.hint}
      error={error}
      value={isPlayable === null ? '' : String(isPlayable)}
      onChange={({ target: { value } }) => onChange(value === '' ? null : value === 'true')}
    >
      <option value="">{words.automatic}</option>
      <option value="true">{words.yes}</option>
      <option value="false">{words.no}</option>
    </SelectField>
  )
}
