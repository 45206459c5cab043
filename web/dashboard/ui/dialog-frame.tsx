import * as Radix from '@radix-ui/react-dialog'
import type { ReactNode } from 'react'
import { messages } from '../messages/messages.ts'
import { IconButton } from './button.tsx'
import { classNames } from './class-names.ts'
import styles from './dialog.module.css'

/** The parts of a dialog that is open. */
export type DialogFrameProps = {
  onClose(): void
  title: ReactNode
  description?: ReactNode
  isWide?: boolean
  children: ReactNode
}

/**
 * Who opens a form wants to type. Radix gives the focus to the first button instead, which closes the dialog. A dialog
 * without a field keeps that, so that Enter confirms nothing by accident.
 */
function focusFirstField(event: Event): void {
  const fields = 'input:not([type=checkbox]), select, textarea'
  const field = (event.currentTarget as Element).querySelector<HTMLElement>(fields)
  if (!field) return
  event.preventDefault()
  field.focus()
}

export default function DialogFrame({
  onClose,
  title,
  description,
  isWide = false,
  children,
}: DialogFrameProps) {
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={styles.overlay} />
        <Radix.Content
          className={classNames(styles.dialog, isWide && styles.wide)}
          onOpenAutoFocus={focusFirstField}
          {...(!description && { 'aria-describedby': undefined })}
        >
          <div className={styles.head}>
            <Radix.Title>{title}</Radix.Title>
            <Radix.Close asChild>
              <IconButton icon="close" label={messages.actions.close} />
            </Radix.Close>
          </div>
          {description && (
            <Radix.Description asChild>
              <div className="muted">{description}</div>
            </Radix.Description>
          )}
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
