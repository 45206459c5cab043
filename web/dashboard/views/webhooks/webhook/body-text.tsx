import styles from './attempt-view.module.css'

/** Untrusted text of any length. */
export function BodyText({ label, text }: { label: string; text: string }) {
  return (
    <div>
      <h4 className={styles.label}>{label}</h4>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards can scroll it */}
      <section className={styles.body} tabIndex={0} aria-label={label}>
        <pre>{text}</pre>
      </section>
    </div>
  )
}
