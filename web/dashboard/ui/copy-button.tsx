import { type MouseEvent, useEffect, useState } from 'react'
import { copyToClipboard } from '../../shared/clipboard.ts'
import { messages } from '../messages/messages.ts'
import { Button, IconButton, type Variant } from './button.tsx'
import { showError } from './toast-list.ts'

const shownMs = 2_000

type CopyButtonProps = {
  /** Undefined while it is loaded. */
  text: string | undefined
  label?: string
  variant?: Variant
  isIcon?: boolean
  onCopied?: () => void
}

/** `button` is the one that was pressed, if it is still shown. */
export async function copyText(text: string, button?: HTMLElement): Promise<void> {
  if (!(await copyToClipboard(text, button))) throw new Error(messages.actions.copyFailed)
}

export function CopyButton({
  text,
  label = messages.actions.copy,
  variant = 'plain',
  isIcon = false,
  onCopied,
}: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), shownMs)
    return () => clearTimeout(timer)
  }, [isCopied])
  const onClick = ({ currentTarget }: MouseEvent<HTMLElement>) =>
    copyText(text ?? '', currentTarget).then(() => {
      setCopied(true)
      onCopied?.()
    }, showError)
  const disabled = text === undefined
  const icon = isCopied ? 'check' : 'copy'
  return (
    <>
      {isIcon ? (
        <IconButton icon={icon} label={label} disabled={disabled} onClick={onClick} />
      ) : (
        <Button variant={variant} icon={icon} disabled={disabled} onClick={onClick}>
          {isCopied ? messages.actions.copied : label}
        </Button>
      )}
      <span className="visually-hidden" role="status">
        {isCopied ? messages.actions.copied : ''}
      </span>
    </>
  )
}
