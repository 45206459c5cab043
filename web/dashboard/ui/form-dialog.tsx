import type { ReactNode } from 'react'
import { messages } from '../messages/messages.ts'
import { Button } from './button.tsx'
import { Dialog, DialogActions } from './dialog.tsx'
import { Form } from './form.tsx'
import { ErrorText } from './states.tsx'

type FormDialogProps = {
  isOpen?: boolean
  onClose(): void
  title: ReactNode
  description?: ReactNode
  /** What the button says, for example "Create". */
  action: string
  cancel?: string
  isDisabled: boolean
  /** An error that no field shows. */
  error?: Error | null
  onSubmit(): void
  /** The fields. */
  children: ReactNode
}

export function FormDialog(props: FormDialogProps) {
  const { isOpen = true, onClose, title, description, action, isDisabled, error, onSubmit, children } = props
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={title} description={description}>
      <Form onSubmit={onSubmit}>
        {children}
        {error && <ErrorText error={error} />}
        <DialogActions>
          <Button onClick={onClose}>{props.cancel ?? messages.actions.cancel}</Button>
          <Button variant="primary" type="submit" disabled={isDisabled}>
            {action}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
