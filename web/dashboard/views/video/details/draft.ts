import type { Video } from '../../../api/types.ts'
import { type Details, detailsOf, type VideoChange } from '../../../api/video.ts'

export type DetailName = keyof Details

/** What was typed, and the stored details that it began with. */
export type Draft = { base: Details; typed: Details }

export function startDraft(video: Video): Draft {
  const base = detailsOf(video)
  return { base, typed: base }
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

export const differences = (a: Details, b: Details): DetailName[] =>
  (Object.keys(a) as DetailName[]).filter((name) => !isSame(a[name], b[name]))

export const changedNames = ({ base, typed }: Draft) => differences(base, typed)

/** The attributes that were changed here and, to something else, also elsewhere. */
export function conflicts({ base, typed }: Draft, latest: Details): DetailName[] {
  const elsewhere = differences(base, latest)
  return changedNames({ base, typed }).filter(
    (name) => elsewhere.includes(name) && !isSame(typed[name], latest[name]),
  )
}

/** Takes over what was changed elsewhere, except in `kept`, where what was typed here remains. */
export function rebase({ base, typed }: Draft, latest: Details, kept: DetailName[]): Draft {
  const mine = changedNames({ base, typed }).filter((name) => kept.includes(name))
  return { base: latest, typed: { ...latest, ...pick(typed, mine) } }
}

/** Takes over what nobody changed here. Conflicts remain as they are, so that they are seen. */
export function follow(draft: Draft, latest: Details): Draft {
  const inConflict = conflicts(draft, latest)
  const next = rebase(draft, latest, changedNames(draft))
  return { ...next, base: { ...next.base, ...pick(draft.base, inConflict) } }
}

/** Only what was changed is sent, so that other attributes stay as they are. Pairs without a key and value are left out. */
export function changeOf(draft: Draft): VideoChange {
  const change = pick(draft.typed, changedNames(draft))
  if (change.metadata)
    change.metadata = change.metadata.filter(({ key, value }) => key !== '' || value !== '')
  return change
}

const pick = (details: Details, names: DetailName[]) =>
  Object.fromEntries(names.map((name) => [name, details[name]])) as Partial<Details>
