import * as Radix from '@radix-ui/react-toast'
import { useSyncExternalStore } from 'react'
import { texts } from '../texts/texts.ts'
import { Button, IconButton } from './button.tsx'
import { classNames } from './class-names.ts'
import { readToasts, removeToast, subscribeToToasts } from './toast-list.ts'
import styles from './toasts.module.css'

const shownMs = 6_000
/** An action such as "Undo" takes time to notice. */
const shownWithActionMs = 12_000

export default function Toasts() {
  const shown = useSyncExternalStore(subscribeToToasts, readToasts)
  return (
    <Radix.Provider swipeDirection="right">
      {shown.map(({ id, text, isError, action }) => (
        <Radix.Root
          key={id}
          className={classNames(styles.toast, isError && styles.bad)}
          duration={action ? shownWithActionMs : shownMs}
          type={isError ? 'foreground' : 'background'}
          onOpenChange={(open) => !open && removeToast(id)}
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
