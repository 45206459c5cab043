import { useQuery } from '@tanstack/react-query'
import { themeChoicesQuery } from '../../api/live-streams.ts'
import { useEnvironment } from '../../app/environment.ts'
import { texts } from '../../texts/texts.ts'
import { SelectField } from '../../ui/field.tsx'

type ThemeSelectProps = {
  value: string | null
  error?: string | undefined
  onChange(playerId: string | null): void
}

export function ThemeSelect({ value, error, onChange }: ThemeSelectProps) {
  const { data = [] } = useQuery(themeChoicesQuery(useEnvironment()))
  const isListed = value === null || data.some(({ playerId }) => playerId === value)
  return (
    <SelectField
      label={texts.live.theme}
      error={error}
      value={value ?? ''}
      onChange={(event) => onChange(event.target.value || null)}
    >
      <option value="">{texts.live.themeDefault}</option>
      {!isListed && <option value={value}>{value}</option>}
      {data.map(({ playerId, name }) => (
        <option key={playerId} value={playerId}>
          {name || playerId}
        </option>
      ))}
    </SelectField>
  )
}
