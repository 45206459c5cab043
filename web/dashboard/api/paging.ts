import type { Page } from './types.ts'

/** The number of the page after this one, for lists that grow. */
export const nextPage = ({ pagination: { currentPage, pagesTotal } }: Page<unknown>) =>
  currentPage < pagesTotal ? currentPage + 1 : undefined
