import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { themesQuery } from '../api/themes.ts'
import { useEnvironment } from '../app/environment.ts'
import { messages } from '../messages/messages.ts'
import { SelectField } from '../ui/field.tsx'

type ThemeFieldProps = {
  playerId: string | null
  hint?: ReactNode
  error: string | undefined
  onChange(playerId: string | null): void
}

export function ThemeField({ playerId, hint, error, onChange }: ThemeFieldProps) {
  const { data, error: loadError } = useInfiniteQuery(themesQuery(useEnvironment()))
  const themes = (data?.pages.flatMap((page) => page.data) ?? []).toSorted((a, b) =>
    a.name.localeCompare(b.name),
  )
  const isListed = playerId === null || themes.some((theme) => theme.playerId === playerId)
  return (
    <SelectField
      label={messages.themes.one}
      hint={hint}
      error={error ?? loadError?.message}
      value={playerId ?? ''}
      onChange={(event) => onChange(event.target.value || null)}
    >
      <option value="">{messages.themes.default}</option>
      {!isListed && <option value={playerId}>{playerId}</option>}
      {themes.map((theme) => (
        <option key={theme.playerId} value={theme.playerId}>
          {theme.name || `${messages.untitled} (${theme.playerId})`}
        </option>
      ))}
    </SelectField>
  )
}
