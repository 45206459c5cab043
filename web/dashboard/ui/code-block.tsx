import { useEffect, useRef } from 'react'
import styles from './code-block.module.css'
import { CopyButton } from './copy-button.tsx'

type CodeBlockProps = {
  /** Undefined while it is loaded. */
  code: string | undefined
  label?: string
  /** What is shown instead of the code, if it contains a secret. */
  shown?: string | undefined
  /** Its button gets the focus: it takes the place of what had it. */
  hasFocus?: boolean
  onCopied?: () => void
}

/** Code that can be copied. */
export function CodeBlock({ code, label, shown = code, hasFocus = false, onCopied }: CodeBlockProps) {
  const copy = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (hasFocus) copy.current?.querySelector('button')?.focus()
  }, [hasFocus])
  return (
    <div className={styles.block}>
      <pre className={styles.code}>
        <code>{shown}</code>
      </pre>
      <div ref={copy} className={styles.copy}>
        <CopyButton text={code} isIcon {...(label && { label })} {...(onCopied && { onCopied })} />
      </div>
    </div>
  )
}
