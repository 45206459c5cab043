import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { loadTheme, type PlayerTheme, saveTheme, type ThemeFields, themeQuery } from '../../api/themes.ts'
import { useEnvironment } from '../../app/environment.ts'
import { texts } from '../../texts/texts.ts'
import { showToast } from '../../ui/toast-list.ts'

type FieldName = keyof ThemeFields
type Value = string | boolean
/** What was edited in this window: the value that it replaces, and the new one. Both are equal if the edit was reverted. */
type Draft = Map<FieldName, { from: Value; to: Value }>

/** Another window has saved other values for fields that were changed here. */
class ConflictError extends Error {
  readonly current: PlayerTheme
  constructor(fields: FieldName[], current: PlayerTheme) {
    super(texts.themes.conflict(fields.map(nameOf).join(', ')))
    this.current = current
  }
}

function nameOf(field: FieldName): string {
  const { colors, optionTexts, name } = texts.themes
  return { ...colors, ...optionTexts, name }[field]
}

const changesOf = (draft: Draft): Draft => new Map([...draft].filter(([, { from, to }]) => from !== to))

const valuesOf = (draft: Draft) =>
  Object.fromEntries([...draft].map(([name, { to }]) => [name, to])) as Partial<ThemeFields>

/** What was changed again while it was being saved is still unsaved. */
function withoutSaved(draft: Draft, sent: Draft, saved: PlayerTheme): Draft {
  const rest: Draft = new Map()
  for (const [name, change] of draft) {
    if (!sent.has(name)) rest.set(name, change)
    else if (change.to !== sent.get(name)!.to) rest.set(name, { from: saved[name], to: change.to })
  }
  return rest
}

/** Unsaved changes of a theme. Only changed fields are sent, so that two windows can change different ones. */
export function useDraft(theme: PlayerTheme) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [draft, setDraft] = useState<Draft>(new Map())
  const { playerId } = theme
  const changes = changesOf(draft)
  const save = useMutation({
    mutationFn: async (sent: Draft) => {
      const current = await loadTheme(environment, playerId)
      const conflicts = [...sent].filter(
        ([name, { from, to }]) => current[name] !== from && current[name] !== to,
      )
      if (conflicts.length > 0)
        throw new ConflictError(
          conflicts.map(([name]) => name),
          current,
        )
      return saveTheme(environment, playerId, valuesOf(sent))
    },
    onSuccess: (saved, sent) => {
      client.setQueryData(themeQuery(environment, playerId).queryKey, saved)
      setDraft((before) => withoutSaved(before, sent, saved))
      showToast(texts.themes.saved)
    },
  })
  return {
    values: { ...theme, ...valuesOf(changes) },
    isChanged: changes.size > 0,
    error: save.error,
    isSaving: save.isPending,
    save: () =>
      save.mutate(changes, {
        // Not called after a reset, when the message of this error does not appear either.
        onError: (error) => {
          // Saving again overwrites what the other window has saved.
          if (error instanceof ConflictError)
            setDraft(new Map([...changes].map(([name, { to }]) => [name, { from: error.current[name], to }])))
        },
      }),
    set<Name extends FieldName>(name: Name, to: ThemeFields[Name]) {
      save.reset()
      setDraft((before) => {
        const from = changesOf(before).get(name)?.from ?? theme[name]
        return new Map(before).set(name, { from, to })
      })
    },
    discard() {
      setDraft(new Map())
      save.reset()
    },
  }
}
