import type { Slice } from '../slice.ts'
import { delegatedRoutes, uploadRoutes } from './chunks/routes.ts'
import { fetchSource } from './fetch/fetch-source.ts'
import { resumeFetch } from './fetch/pause-fetch.ts'
import { removeAbandonedUploads } from './source/remove-abandoned.ts'
import { removeFiles } from './source/remove-files.ts'
import { storeSource } from './source/store-source.ts'
import { UploadToken, UploadTokenList, uploadTokenRoutes } from './tokens/routes.ts'
import { tusRoutes } from './tus/routes.ts'

export const uploads: Slice = {
  schemas: [UploadToken, UploadTokenList],
  routes(app, context) {
    uploadRoutes(app, context)
    uploadTokenRoutes(app, context)
  },
  publicRoutes(app, context) {
    delegatedRoutes(app, context)
    tusRoutes(app, context)
  },
  jobs: {
    'fetch-source': fetchSource,
    'store-source': storeSource,
    'remove-files': removeFiles,
    'discarded-changed': resumeFetch,
  },
  tasks: [{ name: 'remove abandoned uploads', everyMs: 3_600_000, run: removeAbandonedUploads }],
}
