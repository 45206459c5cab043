import styles from './code-block.module.css'
import { CopyButton } from './copy-button.tsx'

/** Code that can be copied. */
export function CodeBlock({ code, label }: { code: string; label?: string }) {
  return (
    <div className={styles.block}>
      <pre className={styles.code}>
        <code>{code}</code>
      </pre>
      <div className={styles.copy}>
        <CopyButton text={code} isIcon {...(label && { label })} />
      </div>
    </div>
  )
}
