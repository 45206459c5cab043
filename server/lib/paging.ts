import { ref } from './http.ts'
import { type TSchema, Type } from './schema.ts'

export const pageQuery = {
  currentPage: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 2_147_483_647,
      default: 1,
      description: 'Page number, starting at 1.',
    }),
  ),
  pageSize: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 25, description: 'Number of items on a page.' }),
  ),
}

export const Pagination = Type.Object(
  {
    currentPage: Type.Integer({ description: 'Number of this page, starting at 1.', examples: [1] }),
    pageSize: Type.Integer({ description: 'Maximum number of items on a page.', examples: [25] }),
    pagesTotal: Type.Integer({ description: 'Number of pages, at least 1.', examples: [1] }),
    itemsTotal: Type.Integer({
      description:
        'Number of items on all pages. Most lists count up to 5,000 items. If there are more, the number is 5,000, or the number of items up to the next page if that is higher.',
      examples: [1],
    }),
    currentPageItems: Type.Integer({ description: 'Number of items on this page.', examples: [1] }),
    links: Type.Array(
      Type.Object({
        rel: Type.String({
          description: '`self`, `first`, `previous`, `next` or `last`.',
          examples: ['self'],
        }),
        uri: Type.String({
          description: 'Path of that page, with the filters of the request.',
          examples: ['/videos?currentPage=1&pageSize=25'],
        }),
      }),
      {
        description:
          'Links to this page and to other pages. `previous` and `next` exist only if that page does.',
      },
    ),
  },
  { $id: 'Pagination', description: 'The position of this page in the list.' },
)

/** The schema of a list response. */
export const listOf = <T extends TSchema>(item: T, $id: string) =>
  Type.Object(
    { data: Type.Array(item, { description: 'The items of this page.' }), pagination: ref(Pagination) },
    { $id, description: 'One page of a list.' },
  )

export type Page = { currentPage: number; pageSize: number; offset: number }

export function readPage(query: { currentPage?: number; pageSize?: number }): Page {
  const currentPage = query.currentPage ?? 1
  const pageSize = query.pageSize ?? 25
  return { currentPage, pageSize, offset: (currentPage - 1) * pageSize }
}

/** Lists count no more items than this, because counting a million takes longer than everything else. */
export const maxCounted = 5_000

/**
 * The total of a list of which at most `maxCounted` + 1 items were counted. If there are more, it is what this page has
 * reached, so that a client that reads pages while there are more gets all of them. `read` is the number of items from
 * the start of the page on, with one of the next page.
 */
export function totalOf(counted: number, { offset }: Pick<Page, 'offset'>, read: number): number {
  if (counted <= maxCounted) return counted
  return Math.max(maxCounted, read === 0 ? 0 : offset + read)
}

type Filters = Record<string, string | number | boolean | string[] | Record<string, string> | undefined>

/** The links contain the filters, so that clients can follow them without changes. */
function linkQuery(filters: Filters, currentPage: number, pageSize: number): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(filters)) {
    if (value === undefined || name === 'currentPage' || name === 'pageSize') continue
    if (Array.isArray(value)) for (const item of value) query.append(`${name}[]`, item)
    else if (typeof value === 'object')
      for (const [key, v] of Object.entries(value)) query.append(`${name}[${key}]`, v)
    else query.append(name, String(value))
  }
  query.append('currentPage', String(currentPage))
  query.append('pageSize', String(pageSize))
  return query.toString()
}

export function listResponse<T>(path: string, filters: Filters, page: Page, items: T[], itemsTotal: number) {
  const { currentPage, pageSize } = page
  const pagesTotal = Math.max(1, Math.ceil(itemsTotal / pageSize))
  const link = (rel: string, to: number) => ({ rel, uri: `${path}?${linkQuery(filters, to, pageSize)}` })
  const links = [link('self', currentPage), link('first', 1)]
  if (currentPage > 1) links.push(link('previous', Math.min(currentPage - 1, pagesTotal)))
  if (currentPage < pagesTotal) links.push(link('next', currentPage + 1))
  links.push(link('last', pagesTotal))
  return {
    data: items,
    pagination: { currentPage, pageSize, pagesTotal, itemsTotal, currentPageItems: items.length, links },
  }
}
