import type { Slice } from '../slice.ts'
import { accessErrors } from './errors.ts'
import { deleteOldSessions } from './sessions.ts'
import { NewSigningKey, SigningKey, SigningKeyList, signingKeyRoutes } from './signing-key-routes.ts'

export const access: Slice = {
  errors: accessErrors,
  schemas: [SigningKey, NewSigningKey, SigningKeyList],
  routes: signingKeyRoutes,
  tasks: [{ name: 'delete old playback sessions', everyMs: 3_600_000, run: deleteOldSessions }],
}
