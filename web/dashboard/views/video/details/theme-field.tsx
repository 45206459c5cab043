import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { themeNamesQuery } from '../../../api/video.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { texts } from '../../../texts/texts.ts'
import { SelectField } from '../../../ui/field.tsx'

type ThemeFieldProps = {
  playerId: string | null
  error: string | undefined
  onChange(playerId: string | null): void
}

export function ThemeField({ playerId, error, onChange }: ThemeFieldProps) {
  const environment = useEnvironment()
  const { data: themes = [], error: loadError } = useQuery(themeNamesQuery(environment))
  const words = texts.video.details
  const isListed = playerId === null || themes.some((theme) => theme.playerId === playerId)
  return (
    <SelectField
      label={words.theme}
      hint={
        <Link to="/$environment/themes" params={{ environment }}>
          {words.editThemes}
        </Link>
      }
      error={error ?? loadError?.message}
      value={playerId ?? ''}
      onChange={(event) => onChange(event.target.value || null)}
    >
      <option value="">{words.defaultTheme}</option>
      {!isListed && <option value={playerId}>{playerId}</option>}
      {themes.map((theme) => (
        <option key={theme.playerId} value={theme.playerId}>
          {theme.name || `${words.unnamedTheme} (${theme.playerId})`}
        </option>
      ))}
    </SelectField>
  )
}
