import * as Radix from '@radix-ui/react-toast'
import { messages } from '../messages/messages.ts'
import { Button, IconButton } from './button.tsx'
import { classNames } from './class-names.ts'
import { useStore } from './store.ts'
import { removeToast, toasts } from './toast-list.ts'
import styles from './toasts.module.css'

const shownMs = 6_000
/** An action such as "Undo" takes time to notice. */
const shownWithActionMs = 12_000

export default function Toasts() {
  const shown = useStore(toasts)
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
                <Button variant="quiet" onClick={action.run}>
                  {action.label}
                </Button>
              </Radix.Action>
            )}
            <Radix.Close asChild>
              <IconButton icon="close" label={messages.actions.close} />
            </Radix.Close>
          </div>
        </Radix.Root>
      ))}
      <Radix.Viewport className={styles.viewport} />
    </Radix.Provider>
  )
}
