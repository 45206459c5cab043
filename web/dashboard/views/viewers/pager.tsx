import type { Page } from '../../api/types.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import styles from './pager.module.css'

type PagerProps = {
  page: number
  pagination: Page<unknown>['pagination'] | undefined
  onChange(page: number): void
}

/** Nothing if everything is on one page. */
export function Pager({ page, pagination, onChange }: PagerProps) {
  const pages = pagination?.pagesTotal ?? 1
  if (pages <= 1) return null
  return (
    <div className={styles.pager}>
      <Button disabled={page <= 1} onClick={() => onChange(page - 1)}>
        {messages.viewers.previousPage}
      </Button>
      <span>{messages.viewers.pageOf(page, pages)}</span>
      <Button disabled={page >= pages} onClick={() => onChange(page + 1)}>
        {messages.viewers.nextPage}
      </Button>
    </div>
  )
}
