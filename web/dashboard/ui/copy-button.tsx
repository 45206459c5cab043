import { useEffect, useState } from 'react'
import { texts } from '../texts/texts.ts'
import { Button, IconButton } from './button.tsx'
import { showError } from './toast-list.ts'

const shownMs = 2_000

type CopyButtonProps = {
  /** Undefined while it is loaded. */
  text: string | undefined
  label?: string
  isIcon?: boolean
  onCopied?: () => void
}

/** The Clipboard API needs https or localhost. A hidden text field works everywhere. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const field = document.createElement('textarea')
  field.value = text
  document.body.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
}

export function CopyButton({ text, label = texts.actions.copy, isIcon = false, onCopied }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), shownMs)
    return () => clearTimeout(timer)
  }, [isCopied])
  const onClick = () =>
    copyText(text ?? '').then(() => {
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
        <Button icon={icon} disabled={disabled} onClick={onClick}>
          {isCopied ? texts.actions.copied : label}
        </Button>
      )}
      <span className="visually-hidden" role="status">
        {isCopied ? texts.actions.copied : ''}
      </span>
    </>
  )
}
