import { requireField } from './require-field.ts'
import type { ImportService } from './service.ts'

/** Files of a client, which sends the objects and uploads the files itself. Exported objects keep their ids. */
export const folder: ImportService = {
  keepsIds: true,
  read: (request) => ({ account: requireField(request, 'location'), credentials: {} }),
  open() {
    throw new Error('the client sends the objects of a folder')
  },
}
