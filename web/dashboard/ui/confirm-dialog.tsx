import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { messages } from '../messages/messages.ts'
import { Button } from './button.tsx'
import { Dialog, DialogActions } from './dialog.tsx'
import { ErrorText } from './states.tsx'

type ConfirmDialogProps = {
  isOpen: boolean
  onClose(): void
  title: ReactNode
  description: ReactNode
  /** What the button says, for example "Delete 3 videos". */
  action: string
  isDangerous?: boolean
  /** The dialog stays open and shows the error if it fails. */
  onConfirm(): Promise<unknown>
}

export function ConfirmDialog(props: ConfirmDialogProps) {
  const { isOpen, onClose, title, description, action, isDangerous = true, onConfirm } = props
  const confirm = useMutation({ mutationFn: onConfirm, onSuccess: onClose })
  const close = () => {
    confirm.reset()
    onClose()
  }
  return (
    <Dialog isOpen={isOpen} onClose={close} title={title} description={description}>
      {confirm.error && <ErrorText error={confirm.error} />}
      <DialogActions>
        <Button onClick={close}>{messages.actions.cancel}</Button>
        <Button
          variant={isDangerous ? 'danger' : 'primary'}
          disabled={confirm.isPending}
          onClick={() => confirm.mutate()}
        >
          {action}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
