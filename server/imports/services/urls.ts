import { createHash } from 'node:crypto'
import { invalidAttribute } from '../../lib/errors.ts'
import { titleOfFile } from '../../media/file-title.ts'
import { nameFromUrl, readMetadata } from '../../videos/payload.ts'
import type { ImportOptions, ListedUrl } from '../schemas.ts'
import { describeFile } from './file-description.ts'
import { requireField } from './require-field.ts'
import type { ImportService, Library, ListedObject } from './service.ts'

const pageSize = 500

/** Files at URLs, with the attributes of the list. */
export const urls: ImportService = {
  keepsIds: false,
  read(request) {
    const list = requireField(request, 'list')
    for (const [i, { url, metadata }] of list.entries()) {
      const parsed = URL.parse(url)
      if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:')
        throw invalidAttribute(`list[${i}][url]`, `"list[${i}][url]" must be an http or https URL.`)
      if (metadata) readMetadata(metadata)
    }
    return { account: 'list', credentials: {} }
  },
  open: ({ options }, client): Library => ({
    async list(cursor) {
      const from = Number(cursor ?? 0)
      const rows = options.list ?? []
      const next = from + pageSize < rows.length ? String(from + pageSize) : null
      return { items: rows.slice(from, from + pageSize).map(listRow), next }
    },
    describe: async ({ title, details }) => describeRow(title, details as ListedUrl),
    open: ({ id }, from, validator) => client.file(id, from, validator),
  }),
}

function listRow(row: NonNullable<ImportOptions['list']>[number]): ListedObject {
  const version = createHash('sha256').update(JSON.stringify(row)).digest('hex').slice(0, 32)
  const title = row.title ?? titleOfFile(nameFromUrl(row.url))
  const fixed = { contentVersion: '', bytes: null, seconds: null }
  return { kind: 'video', id: row.url, title, version, ...fixed, details: row }
}

const describeRow = (title: string, row: ListedUrl) => ({
  ...describeFile(title),
  description: row.description ?? '',
  tags: row.tags ?? [],
  metadata: readMetadata(row.metadata ?? []),
  public: row.public ?? true,
  language: row.language ?? null,
})
