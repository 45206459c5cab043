import type { Slice } from '../slice.ts'
import { delegatedRoutes, uploadRoutes } from './chunks/routes.ts'
import { fetchSource } from './fetch/fetch-source.ts'
import { resumeFetch } from './fetch/pause-fetch.ts'
import { removeAbandonedUploads, removeFiles, storeSource } from './source/store-source.ts'
import { UploadToken, UploadTokenList, uploadTokenRoutes } from './tokens/routes.ts'
import { tusRoutes } from './tus/routes.ts'

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
