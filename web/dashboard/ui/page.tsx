import { Fragment, type ReactNode, useEffect } from 'react'
import { messages } from '../messages/messages.ts'
import { Breadcrumb, type Parent } from './breadcrumb.tsx'
import { classNames } from './class-names.ts'
import styles from './page.module.css'

type PageProps = {
  title: string
  /** The pages above it, from the highest on. */
  parents?: Parent[]
  intro?: ReactNode
  actions?: ReactNode
  /** Uses the whole width, for grids. */
  isFull?: boolean
  children: ReactNode
}

/** The frame of a view: its heading, its actions and the title of the browser's tab. */
export function Page({ title, parents, intro, actions, isFull = false, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} – ${messages.product}`
  }, [title])
  return (
    <div className={classNames(styles.page, isFull && styles.full)}>
      <div className={styles.head}>
        <div className={styles.titles}>
          {parents && <Breadcrumb parents={parents} current={title} />}
          <h1>{breakable(title)}</h1>
          {intro && <div className={styles.intro}>{intro}</div>}
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </div>
      {children}
    </div>
  )
}

/** A long URL is broken between its parts. */
const breakable = (title: string) =>
  title.split(/(?<=[/?&])/).map((part, i) => (
    <Fragment key={i}>
      {i > 0 && <wbr />}
      {part}
    </Fragment>
  ))
