import { useId } from 'react'
import { messages } from '../../../../messages/messages.ts'
import { TextField } from '../../../../ui/field.tsx'
import { languageName, spokenLanguages } from '../details/languages.ts'

const words = messages.video.tracks

type LanguageTagFieldProps = { value: string; error: string | undefined; onChange(value: string): void }

/** Any BCP 47 tag, with the usual ones as suggestions. */
export function LanguageTagField({ value, error, onChange }: LanguageTagFieldProps) {
  const listId = useId()
  return (
    <>
      <TextField
        label={words.languageTag}
        hint={words.languageHint}
        required
        maxLength={35}
        pattern="[A-Za-z0-9]+(-[A-Za-z0-9]+)*"
        list={listId}
        value={value}
        error={error}
        onChange={(event) => onChange(event.target.value)}
      />
      <datalist id={listId}>
        {spokenLanguages.map((tag) => (
          <option key={tag} value={tag}>
            {languageName(tag)}
          </option>
        ))}
      </datalist>
    </>
  )
}
