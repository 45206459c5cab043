import { invalidAttribute } from '../../lib/errors.ts'
import type { ImportRequest } from '../schemas.ts'

/** For services whose videos have no tags: the filter would match nothing. */
export function refuseTags({ service, tags = [] }: ImportRequest): void {
  if (tags.length > 0) throw invalidAttribute('tags', `Videos of "${service}" have no tags.`)
}
