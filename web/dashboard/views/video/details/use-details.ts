import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiProblem } from '../../../api/problem.ts'
import type { Video } from '../../../api/types.ts'
import { type Details, detailsOf, updateVideo, videoQuery } from '../../../api/video.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { texts } from '../../../texts/texts.ts'
import { showToast } from '../../../ui/toast-list.ts'
import { changedNames, changeOf, conflicts, type DetailName, follow, rebase, startDraft } from './draft.ts'

/** The form of the details. What changes elsewhere appears in it, and never replaces what was typed. */
export function useDetails(video: Video) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const query = videoQuery(environment, video.videoId)
  const [stored, setDraft] = useState(() => startDraft(video))
  const latest = detailsOf(video)
  const draft = follow(stored, latest)
  const save = useMutation({
    mutationFn: async () => {
      const fresh = detailsOf(await client.fetchQuery({ ...query, staleTime: 0 }))
      const sent = follow(draft, fresh)
      if (conflicts(sent, fresh).length > 0) throw new Error(texts.video.conflict.blocked)
      return { sent, answer: await updateVideo(environment, video.videoId, changeOf(sent)) }
    },
    onSuccess: ({ sent, answer }) => {
      client.setQueryData(query.queryKey, answer)
      // What was typed while the request was sent stays.
      setDraft((now) => {
        const later = changedNames(now).filter((name) => now.typed[name] !== sent.typed[name])
        return rebase(now, detailsOf(answer), later)
      })
      showToast(texts.video.details.saved)
      void client.invalidateQueries({ queryKey: [environment, 'videos', 'list'] })
    },
  })
  return {
    typed: draft.typed,
    latest,
    conflicts: conflicts(draft, latest),
    isDirty: changedNames(draft).length > 0,
    set<Name extends DetailName>(name: Name, value: Details[Name]) {
      setDraft({ ...draft, typed: { ...draft.typed, [name]: value } })
    },
    /** Decides a conflict. */
    keep(name: DetailName, isMine: boolean) {
      const others = changedNames(draft).filter((each) => each !== name)
      const decided = rebase(draft, latest, isMine ? [...others, name] : others)
      const open = conflicts(draft, latest).filter((each) => each !== name)
      const base = { ...decided.base, ...Object.fromEntries(open.map((each) => [each, draft.base[each]])) }
      setDraft({ ...decided, base })
      save.reset()
    },
    discard() {
      setDraft(startDraft(video))
      save.reset()
    },
    save,
    /** The sentence about an attribute. The API names items of lists as `tags[0]`. */
    errorOf(name: DetailName): string | undefined {
      if (!(save.error instanceof ApiProblem)) return undefined
      return Object.entries(save.error.fields).find(([field]) => field.split(/[[.]/)[0] === name)?.[1]
    },
  }
}

export type DetailsForm = ReturnType<typeof useDetails>
