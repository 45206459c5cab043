/** What was typed, and the stored values that it began with. */
export type Draft<T> = { base: T; typed: T }

export type IsSame = (a: unknown, b: unknown) => boolean
export const isSameJson: IsSame = (a, b) => JSON.stringify(a) === JSON.stringify(b)

export const startDraft = <T>(stored: T): Draft<T> => ({ base: stored, typed: stored })

/** The attributes that have other values in `b`. */
const differences = <T extends object>(a: T, b: T, isSame = isSameJson) =>
  (Object.keys(a) as (keyof T)[]).filter((name) => !isSame(a[name], b[name]))

export const changedNames = <T extends object>({ base, typed }: Draft<T>, isSame = isSameJson) =>
  differences(base, typed, isSame)

/** Only what was changed is sent, so that other attributes stay as they are. */
export const changeOf = <T extends object>(draft: Draft<T>, isSame = isSameJson) =>
  pick(draft.typed, changedNames(draft, isSame))

/** The attributes that were changed here and, to something else, also elsewhere. */
export function conflicts<T extends object>({ base, typed }: Draft<T>, latest: T, isSame = isSameJson) {
  const elsewhere = differences(base, latest, isSame)
  return elsewhere.filter((name) => !isSame(typed[name], base[name]) && !isSame(typed[name], latest[name]))
}

/** Takes what was changed elsewhere. Conflicts remain until somebody decides. */
export function follow<T extends object>(draft: Draft<T>, latest: T, isSame = isSameJson): Draft<T> {
  const open = conflicts(draft, latest, isSame)
  const followed = differences(draft.base, latest, isSame).filter((name) => !open.includes(name))
  const theirs = pick(latest, followed)
  return { base: { ...draft.base, ...theirs }, typed: { ...draft.typed, ...theirs } }
}

/** Ends the conflict about one attribute. */
export function decide<T extends object>(
  draft: Draft<T>,
  latest: T,
  name: keyof T,
  isMine: boolean,
): Draft<T> {
  const theirs = pick(latest, [name])
  return {
    base: { ...draft.base, ...theirs },
    typed: isMine ? draft.typed : { ...draft.typed, ...theirs },
  }
}

/** The draft `sent` is saved. What was typed since then stays, also if it is what was stored before. */
export function accept<T extends object>(draft: Draft<T>, sent: Draft<T>, saved: T, isSame = isSameJson) {
  const later = differences(sent.typed, draft.typed, isSame)
  return { base: saved, typed: { ...saved, ...pick(draft.typed, later) } }
}

const pick = <T extends object>(values: T, names: (keyof T)[]) =>
  Object.fromEntries(names.map((name) => [name, values[name]])) as Partial<T>
