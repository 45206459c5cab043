import type { Slice } from '../slice.ts'
import { Authenticator } from './authenticate.ts'
import { accountsErrors } from './errors.ts'
import { AccessToken, accountRoutes } from './routes.ts'
import { keysChannel } from './store.ts'

export const accounts: Slice = {
  errors: accountsErrors,
  schemas: [AccessToken],
  publicRoutes: accountRoutes,
  open(context) {
    const authenticator = new Authenticator(context)
    return {
      channels: { [keysChannel]: () => authenticator.forget() },
      authenticate: (request) => authenticator.authenticate(request),
    }
  },
}
