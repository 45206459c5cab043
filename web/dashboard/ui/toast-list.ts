// Apart from the component, so that views can report something before it is loaded.

export type Toast = {
  id: number
  text: string
  isError: boolean
  action: { label: string; run(): void } | undefined
}

const maxShown = 4

let toasts: Toast[] = []
let nextId = 1
const listeners = new Set<() => void>()

function set(next: Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

export function subscribeToToasts(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const removeToast = (id: number) => set(toasts.filter((each) => each.id !== id))

/** Shows a short message at the corner of the page. */
export function showToast(text: string, action?: Toast['action']): void {
  set([...toasts, { id: nextId++, text, isError: false, action }].slice(-maxShown))
}

/** For a failure that has no place of its own on the page. */
export function showError(error: Error): void {
  set([...toasts, { id: nextId++, text: error.message, isError: true, action: undefined }].slice(-maxShown))
}

export const readToasts = () => toasts
