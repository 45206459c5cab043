import * as Radix from '@radix-ui/react-toast'
import { useSyncExternalStore } from 'react'
import { texts } from '../texts/texts.ts'
import { Button, IconButton } from './button.tsx'
import { classNames } from './class-names.ts'
import styles from './toasts.module.css'

type Toast = {
  id: number
  text: string
  isError: boolean
  action: { label: string; run(): void } | undefined
}

const shownMs = 6_000
/** An action such as "Undo" takes time to notice. */
const shownWithActionMs = 12_000
const maxShown = 4

let toasts: Toast[] = []
let nextId = 1
const listeners = new Set<() => void>()

function set(next: Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const remove = (id: number) => set(toasts.filter((each) => each.id !== id))

/** Shows a short message at the corner of the page. */
export function showToast(text: string, action?: Toast['action']): void {
  set([...toasts, { id: nextId++, text, isError: false, action }].slice(-maxShown))
}

/** For a failure that has no place of its own on the page. */
export function showError(error: Error): void {
  set([...toasts, { id: nextId++, text: error.message, isError: true, action: undefined }].slice(-maxShown))
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts)
  return (
    <Radix.Provider swipeDirection="right">
      {shown.map(({ id, text, isError, action }) => (
        <Radix.Root
          key={id}
          className={classNames(styles.toast, isError && styles.bad)}
          duration={action ? shownWithActionMs : shownMs}
          type={isError ? 'foreground' : 'background'}
          onOpenChange={(open) => !open && remove(id)}
        >
          <Radix.Description>{text}</Radix.Description>
          <div className={styles.actions}>
            {action && (
              <Radix.Action asChild altText={action.label}>
                <Button look="quiet" onClick={action.run}>
                  {action.label}
                </Button>
              </Radix.Action>
            )}
            <Radix.Close asChild>
              <IconButton icon="close" label={texts.actions.close} />
            </Radix.Close>
          </div>
        </Radix.Root>
      ))}
      <Radix.Viewport className={styles.viewport} />
    </Radix.Provider>
  )
}
