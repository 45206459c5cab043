import { type QueryFunction, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiProblem, isMissing } from '../api/problem.ts'
import { messages } from '../messages/messages.ts'
import {
  accept,
  changedNames,
  changeOf,
  conflicts,
  type Draft,
  decide,
  follow,
  type IsSame,
  isSameJson,
  startDraft,
} from './draft.ts'

type DraftOptions<T extends object, Data> = {
  /** Loads what is edited. */
  query: { queryKey: string[]; queryFn?: QueryFunction<Data, string[]> }
  /** What the query has loaded. */
  data: Data
  /** The attributes that can be edited. */
  valuesOf(data: Data): T
  /** Stores the attributes that were changed, and returns what the query would load then. */
  store(change: Partial<T>, values: T): Promise<Data>
  onSaved?(): void
  isSame?: IsSame
}

/** `latest` is what the server has, and `data` what it was read from. */
type State<T, Data> = { data: Data; latest: T; draft: Draft<T> }

/**
 * A form that edits something that others may edit too. What changes elsewhere appears in it, and never replaces what
 * was typed. What was typed never replaces what changed elsewhere, unless somebody has decided so.
 */
export function useDraft<T extends object, Data>(options: DraftOptions<T, Data>) {
  const { query, data, valuesOf, store, onSaved, isSame = isSameJson } = options
  const client = useQueryClient()
  const [kept, setState] = useState<State<T, Data>>(() => {
    const latest = valuesOf(data)
    return { data, latest, draft: startDraft(latest) }
  })
  const state = kept.data === data ? kept : take(kept, data)
  if (state !== kept) setState(state)
  const { draft, latest } = state

  function take(before: State<T, Data>, next: Data): State<T, Data> {
    const values = valuesOf(next)
    return { data: next, latest: values, draft: follow(before.draft, values, isSame) }
  }
  const change = (update: (draft: Draft<T>) => Draft<T>) =>
    setState((now) => ({ ...now, draft: update(now.draft) }))

  const save = useMutation({
    mutationFn: async (typed: Draft<T>) => {
      const stored = await client.fetchQuery({ ...query, staleTime: 0 }).then(valuesOf, (error) => {
        // What was deleted is not in conflict with anything.
        if (isMissing(error)) return typed.base
        throw error
      })
      const sent = follow(typed, stored, isSame)
      if (conflicts(sent, stored, isSame).length > 0) throw new Error(messages.conflict.blocked)
      const saved = await store(changeOf(sent, isSame), sent.typed)
      client.setQueryData(query.queryKey, saved)
      // A response to an earlier request would bring the old values back.
      void client.invalidateQueries({ queryKey: query.queryKey, exact: true })
      return saved
    },
    onSuccess: (saved, sent) => {
      const values = valuesOf(saved)
      setState((now) => ({ ...now, latest: values, draft: accept(now.draft, sent, values, isSame) }))
      onSaved?.()
    },
  })
  return {
    typed: draft.typed,
    latest,
    conflicts: conflicts(draft, latest, isSame),
    isDirty: changedNames(draft, isSame).length > 0,
    set: (values: Partial<T>) => change((now) => ({ ...now, typed: { ...now.typed, ...values } })),
    /** Gets the values as they are now, which may be later than when the button was pressed. */
    update: (update: (typed: T) => T) => change((now) => ({ ...now, typed: update(now.typed) })),
    decide(name: keyof T, isMine: boolean) {
      change((now) => decide(now, latest, name, isMine))
      save.reset()
    },
    discard() {
      change(() => startDraft(latest))
      save.reset()
    },
    save: () => save.mutate(draft),
    isSaving: save.isPending,
    error: save.error,
    /** The sentence about an attribute, until it is changed. The API names items of lists as `tags[0]`. */
    errorOf(name: keyof T & string): string | undefined {
      if (!(save.error instanceof ApiProblem)) return undefined
      if (!isSame(save.variables?.typed[name], draft.typed[name])) return undefined
      return Object.entries(save.error.fields).find(([field]) => field.split(/[[.]/)[0] === name)?.[1]
    },
  }
}

export type DraftForm<T extends object> = ReturnType<typeof useDraft<T, unknown>>
