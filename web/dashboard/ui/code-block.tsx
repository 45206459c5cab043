import { useEffect, useRef } from 'react'
import { Code } from './code.tsx'
import styles from './code-block.module.css'
import { CopyButton } from './copy-button.tsx'
import type { Language } from './highlight.ts'

type CodeBlockProps = {
  /** Undefined while it is loaded. */
  code: string | undefined
  language?: Language | undefined
  label?: string
  /** What is shown instead of the code, if it contains a secret. */
  shown?: string | undefined
  /** Its button gets the focus: it takes the place of what had it. */
  hasFocus?: boolean
  onCopied?: () => void
}

/** Code that can be copied. */
export function CodeBlock(props: CodeBlockProps) {
  const { code, language, label, shown = code, hasFocus = false, onCopied } = props
  const copy = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (hasFocus) copy.current?.querySelector('button')?.focus()
  }, [hasFocus])
  return (
    <div className={styles.block}>
      <Code code={shown ?? ''} language={language} />
      <div ref={copy}>
        <CopyButton text={code} isIcon {...(label && { label })} {...(onCopied && { onCopied })} />
      </div>
    </div>
  )
}
