import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import { tagSuggestionsQuery } from '../../../api/videos.ts'
import { useEnvironment } from '../../../app/environment.ts'

/** Existing tags for an input with this `list`. After a comma, the tags before it are kept. */
export function TagSuggestions({ id, typed }: { id: string; typed: string }) {
  const environment = useEnvironment()
  const start = typed.lastIndexOf(',') + 1
  const last = useDeferredValue(typed.slice(start).trim()).slice(0, 255)
  const { data = [] } = useQuery({
    ...tagSuggestionsQuery(environment, last),
    placeholderData: keepPreviousData,
  })
  const before = typed.slice(0, start)
  return (
    <datalist id={id}>
      {data.map(({ value }) => (
        <option key={value} value={`${before}${before && ' '}${value}`} />
      ))}
    </datalist>
  )
}
