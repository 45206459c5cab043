import { messages } from '../../../../messages/messages.ts'
import { SelectField } from '../../../../ui/field.tsx'
import { languageName, spokenLanguages } from './languages.ts'

type LanguageFieldProps = {
  language: string | null
  error: string | undefined
  onChange(language: string | null): void
}

export function LanguageField({ language, error, onChange }: LanguageFieldProps) {
  const words = messages.video.details
  const choices = spokenLanguages
    .map((tag) => ({ tag, name: languageName(tag) }))
    .sort((a, b) => a.name.localeCompare(b.name))
  return (
    <SelectField
      label={words.language}
      error={error}
      value={language ?? ''}
      onChange={(event) => onChange(event.target.value || null)}
    >
      <option value="">{words.unknownLanguage}</option>
      {choices.map(({ tag, name }) => (
        <option key={tag} value={tag}>
          {name}
        </option>
      ))}
    </SelectField>
  )
}
