import * as Radix from '@radix-ui/react-dialog'
import { messages } from '../messages/messages.ts'
import { IconButton } from '../ui/button.tsx'
import { EnvironmentSwitch } from './environment-switch.tsx'
import { Navigation } from './navigation.tsx'
import styles from './shell.module.css'

/** The navigation of small screens, over the page. */
export default function Drawer({ onClose }: { onClose(): void }) {
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={styles.drawerOverlay} />
        <Radix.Content className={styles.drawer} aria-describedby={undefined}>
          <div className={styles.drawerHead}>
            <Radix.Title>{messages.product}</Radix.Title>
            <Radix.Close asChild>
              <IconButton icon="close" label={messages.navigation.close} />
            </Radix.Close>
          </div>
          <EnvironmentSwitch />
          <Navigation onNavigate={onClose} />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
