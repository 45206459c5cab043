import { createStore } from '../../ui/store.ts'

const storageKey = 'kinora-first-steps'

/** What the server does not know. `isOver`: all steps are done, or somebody does not want to see them. */
type Noted = { isOver?: true; hasCopied?: true }

function readNoted(): Noted {
  try {
    return JSON.parse(localStorage.getItem(storageKey) ?? '{}')
  } catch {
    return {}
  }
}

export const noted = createStore(readNoted())

export function note(change: Noted): void {
  noted.set({ ...noted.read(), ...change })
  localStorage.setItem(storageKey, JSON.stringify(noted.read()))
}
