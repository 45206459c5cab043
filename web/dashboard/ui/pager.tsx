import type { Page } from '../api/types.ts'
import { messages } from '../messages/messages.ts'
import { Button } from './button.tsx'
import { classNames } from './class-names.ts'
import { formatNumber } from './format.ts'
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
    <nav className={classNames('secondary', styles.pager)} aria-label={messages.pages.label}>
      <Button disabled={page <= 1} onClick={() => onChange(page - 1)}>
        {messages.pages.previous}
      </Button>
      <span>{messages.pages.pageOf(formatNumber(page), formatNumber(pages))}</span>
      <Button disabled={page >= pages} onClick={() => onChange(page + 1)}>
        {messages.pages.next}
      </Button>
    </nav>
  )
}
