import { Link } from '@tanstack/react-router'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { classNames } from '../../ui/class-names.ts'
import { Skeleton } from '../../ui/states.tsx'
import styles from './figure.module.css'

type FigureProps = {
  label: string
  to: '/$environment/viewers' | '/$environment/live' | '/$environment/system'
  /** Undefined while it is loaded. */
  value: string | undefined
  error: Error | null
  hint?: string | undefined
  isBad?: boolean
}

/** A number that leads to the view that explains it. */
export function Figure({ label, to, value, error, hint, isBad = false }: FigureProps) {
  const environment = useEnvironment()
  return (
    <Link to={to} params={{ environment }} className={styles.figure}>
      <span className="secondary">{label}</span>
      <span className={classNames(styles.value, isBad && styles.bad)}>
        {value ?? (error ? messages.home.unknown : <Skeleton width={60} height={26} />)}
      </span>
      <span className="secondary">{error?.message ?? hint ?? '\u00a0'}</span>
    </Link>
  )
}
