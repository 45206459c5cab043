import type { ImportInput, Part } from '../../../../api/imports.ts'
import { findService, type RemoteService } from '../services.ts'

/** What is typed. */
export type ImportForm = {
  service: RemoteService
  url: string
  location: string
  region: string
  key: string
  secret: string
  signingKeyId: string
  signingKey: string
  list: string
  keepIds: boolean
  include: Part[]
  since: string
  tags: string
  limit: string
  concurrency: string
  bandwidth: string
}

export const emptyForm = (service: RemoteService): ImportForm => ({
  service,
  url: '',
  location: '',
  region: '',
  key: '',
  secret: '',
  signingKeyId: '',
  signingKey: '',
  list: '',
  keepIds: true,
  // Webhooks would send events of this service to receivers that still serve the other one.
  include: findService(service).parts.filter((part) => part !== 'webhooks'),
  since: '',
  tags: '',
  limit: '',
  concurrency: '3',
  bandwidth: '',
})

const split = (text: string, separator: RegExp) =>
  text
    .split(separator)
    .map((each) => each.trim())
    .filter((each) => each !== '')

/** The request of a preview. Fields that the service does not have are left out. */
export function readForm(form: ImportForm): ImportInput {
  const service = findService(form.service)
  const typed = service.fields
    .map(({ name }) => [name, form[name].trim()] as const)
    .filter(([, value]) => value !== '')
  const tags = service.hasTags ? split(form.tags, /,/) : []
  return {
    service: form.service,
    dryRun: true,
    ...Object.fromEntries(typed),
    ...(form.service === 'urls' && { list: split(form.list, /\n/).map((url) => ({ url })) }),
    ...(service.keepsIds && { keepIds: form.keepIds }),
    ...(service.parts.length > 0 && { include: form.include }),
    // The day begins where the browser is.
    ...(form.since !== '' && { since: new Date(`${form.since}T00:00`).toISOString() }),
    ...(tags.length > 0 && { tags }),
    ...(form.limit !== '' && { limit: Number(form.limit) }),
    ...(form.concurrency !== '' && { concurrency: Number(form.concurrency) }),
    ...(form.bandwidth !== '' && { bandwidth: Math.round(Number(form.bandwidth) * 1_000_000) }),
  }
}
