import { Code } from '../../../ui/code.tsx'
import type { Language } from '../../../ui/highlight.ts'
import styles from './attempt-view.module.css'

type BodyTextProps = { label: string; text: string; language?: Language | undefined }

/** Untrusted text of any length. */
export const BodyText = ({ label, text, language }: BodyTextProps) => (
  <div className={styles.body}>
    <h4 className={styles.label}>{label}</h4>
    <Code code={text} language={language} label={label} />
  </div>
)

/** JSON is indented, as far as it can be read. */
export function BodyOf({ label, text }: { label: string; text: string }) {
  const json = readJson(text)
  if (json !== undefined)
    return <BodyText label={label} text={JSON.stringify(json, null, 2)} language="json" />
  return <BodyText label={label} text={text} language={/^\s*</.test(text) ? 'html' : undefined} />
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
