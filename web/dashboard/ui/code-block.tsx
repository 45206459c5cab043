import styles from './code-block.module.css'
import { CopyButton } from './copy-button.tsx'

type CodeBlockProps = {
  /** Undefined while it is loaded. */
  code: string | undefined
  label?: string
  /** What is shown instead of the code, if it contains a secret. */
  shown?: string | undefined
}

/** Code that can be copied. */
export function CodeBlock({ code, label, shown = code }: CodeBlockProps) {
  return (
    <div className={styles.block}>
      <pre className={styles.code}>
        <code>{shown}</code>
      </pre>
      <div className={styles.copy}>
        <CopyButton text={code} isIcon {...(label && { label })} />
      </div>
    </div>
  )
}
