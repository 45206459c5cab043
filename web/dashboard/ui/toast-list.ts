import { createStore } from './store.ts'

// Apart from the component, so that views can report something before it is loaded.

export type Toast = {
  id: number
  text: string
  isError: boolean
  action: { label: string; run(): void } | undefined
}

const maxShown = 4

export const toasts = createStore<Toast[]>([])
let nextId = 1

const add = (toast: Omit<Toast, 'id'>) =>
  toasts.set([...toasts.read(), { id: nextId++, ...toast }].slice(-maxShown))

export const removeToast = (id: number) => toasts.set(toasts.read().filter((each) => each.id !== id))

/** Shows a short message at the corner of the page. */
export const showToast = (text: string, action?: Toast['action']) => add({ text, isError: false, action })

/** For a failure that has no place of its own on the page. */
export const showError = ({ message }: Error) => add({ text: message, isError: true, action: undefined })
