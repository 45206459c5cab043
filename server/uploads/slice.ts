import type { Slice } from '../slice.ts'
import { fetchSource } from './fetch-source.ts'
import { resumeFetch } from './pause-fetch.ts'
import { delegatedRoutes, uploadRoutes } from './routes.ts'
import { removeAbandonedUploads, removeFiles, storeSource } from './store-source.ts'
import { UploadToken, UploadTokenList, uploadTokenRoutes } from './token-routes.ts'
import { tusRoutes } from './tus-routes.ts'

export const uploads: Slice = {
  schemas: [UploadToken, UploadTokenList],
  routes(app, context) {
    uploadRoutes(app, context, context)
    uploadTokenRoutes(app, context)
  },
  publicRoutes(app, context) {
    delegatedRoutes(app, context, context)
    tusRoutes(app, context, context.authenticator, context)
  },
  jobs: {
    'fetch-source': fetchSource,
    'store-source': storeSource,
    'remove-files': removeFiles,
    'discarded-changed': resumeFetch,
  },
  tasks: [{ name: 'remove abandoned uploads', everyMs: 3_600_000, run: removeAbandonedUploads }],
}
