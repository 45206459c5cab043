import { useEffect, useState } from 'react'
import { texts } from '../texts/texts.ts'
import { Button, IconButton } from './button.tsx'
import { showError } from './toast-list.ts'

const shownMs = 2_000

type CopyButtonProps = { text: string; label?: string; isIcon?: boolean }

/** The Clipboard API needs https or localhost. A hidden text field works everywhere. */
async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const field = document.createElement('textarea')
  field.value = text
  document.body.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
}

export function CopyButton({ text, label = texts.actions.copy, isIcon = false }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), shownMs)
    return () => clearTimeout(timer)
  }, [isCopied])
  const onClick = () => copy(text).then(() => setCopied(true), showError)
  const icon = isCopied ? 'check' : 'copy'
  return (
    <>
      {isIcon ? (
        <IconButton icon={icon} label={label} onClick={onClick} />
      ) : (
        <Button icon={icon} onClick={onClick}>
          {isCopied ? texts.actions.copied : label}
        </Button>
      )}
      <span className="visually-hidden" role="status">
        {isCopied ? texts.actions.copied : ''}
      </span>
    </>
  )
}
