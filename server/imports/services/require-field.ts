import { httpErrors, invalid } from '../../lib/errors.ts'
import type { ImportRequest } from '../schemas.ts'

/** A field that only some services need. */
export function requireField<K extends keyof ImportRequest>(
  request: { [N in K]?: ImportRequest[N] | undefined } & { service: ImportRequest['service'] },
  name: K,
): NonNullable<ImportRequest[K]> {
  const value = request[name]
  if (value !== undefined && value !== '') return value as NonNullable<ImportRequest[K]>
  const title = `"${name}" is required with the service "${request.service}".`
  throw invalid([{ kind: httpErrors.attributeRequired, title, name }])
}
