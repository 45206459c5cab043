import styles from './code.module.css'
import { type Language, tokenize } from './highlight.ts'

type CodeProps = {
  code: string
  language?: Language | undefined
  /** The name of the region, which keyboards can scroll. */
  label?: string
}

/** Code in colors. Lines are not wrapped: long ones scroll. */
export const Code = ({ code, language, label }: CodeProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards can scroll it
  <pre className={styles.code} tabIndex={0} {...(label && { role: 'region', 'aria-label': label })}>
    <code>
      {tokenize(code, language).map(({ text, kind }, i) =>
        kind ? (
          <span key={i} className={styles[kind]}>
            {text}
          </span>
        ) : (
          text
        ),
      )}
    </code>
  </pre>
)
