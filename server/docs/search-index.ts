import type { ErrorKind } from '../lib/errors.ts'
import { routesOf } from './document.ts'
import type { GuideGroup } from './guides.ts'
import type { Document } from './openapi.ts'

/** What the search of the pages finds: a section of a guide, an operation, a kind of error. */
type Entry = { group: string; title: string; detail: string; url: string; text: string }

export function searchIndex(groups: GuideGroup[], document: Document, errors: ErrorKind[]): Entry[] {
  return [...guideEntries(groups), ...operationEntries(document), ...errors.map(errorEntry)]
}

const guideEntries = (groups: GuideGroup[]): Entry[] =>
  groups
    .flatMap(({ guides }) => guides)
    .flatMap(({ name, title, sections }) =>
      sections.map(({ id, depth, heading, text }) => ({
        group: 'Guides',
        title,
        detail: depth === 1 ? '' : heading,
        url: `/docs/guides/${name}${depth === 1 ? '' : `#${id}`}`,
        text,
      })),
    )

const operationEntries = (document: Document): Entry[] =>
  routesOf(document).map(({ method, path, operation }) => ({
    group: 'API reference',
    title: operation.summary,
    detail: `${method} ${path}`,
    url: `/docs${referenceHash(operation.tags[0] ?? '', operation.operationId)}`,
    text: operation.description ?? '',
  }))

const errorEntry = ({ slug, title, explanation }: ErrorKind): Entry => ({
  group: 'Errors',
  title,
  detail: slug,
  url: `/docs/errors/${slug}`,
  text: explanation,
})

/** Where Scalar shows an operation. */
const referenceHash = (tag: string, operationId: string) =>
  `#tag/${tag.toLowerCase().replaceAll(' ', '-')}/${operationId}`
