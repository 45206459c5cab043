import { Link, type LinkProps } from '@tanstack/react-router'
import { messages } from '../messages/messages.ts'
import styles from './breadcrumb.module.css'

/** A page above, such as the list. `to` is in the same environment. */
export type Parent = { label: string; to: LinkProps['to']; search?: LinkProps['search'] }

/** Where a page is. `current` is its title. */
export const Breadcrumb = ({ parents, current }: { parents: Parent[]; current: string }) => (
  <nav aria-label={messages.navigation.breadcrumb}>
    <ol className={styles.list}>
      {parents.map(({ label, ...target }) => (
        <li key={label}>
          <Link params {...target} className={styles.link}>
            {label}
          </Link>
        </li>
      ))}
      <li className={styles.current} aria-current="page" dir="auto">
        {current}
      </li>
    </ol>
  </nav>
)
