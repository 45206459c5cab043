import type { Slice } from '../slice.ts'
import { delegatedRoutes, uploadRoutes } from './chunks/routes.ts'
import { encodeEarly, giveUpEarly } from './early/encode-early.ts'
import { rangeErrors, tusErrors, uploadsErrors } from './errors.ts'
import { fetchSource } from './fetch/fetch-source.ts'
import { resumeFetch } from './fetch/pause-fetch.ts'
import { receivedBytes, sourceFailures } from './metrics.ts'
import { uploadsQueues } from './queues.ts'
import { createUploadCoordinator } from './source/coordinator.ts'
import { downloadRoute } from './source/download.ts'
import { dropDueSources, dropOldSources, removeSource } from './source/drop-source.ts'
import { removeAbandonedUploads } from './source/remove-abandoned.ts'
import { removeFiles } from './source/remove-files.ts'
import { storeSource } from './source/store-source.ts'
import { UploadToken, UploadTokenList, uploadTokenRoutes } from './tokens/routes.ts'
import { tusRoutes } from './tus/routes.ts'

export const uploads: Slice = {
  errors: { ...uploadsErrors, ...rangeErrors, ...tusErrors },
  queues: uploadsQueues,
  metrics: [receivedBytes, sourceFailures],
  schemas: [UploadToken, UploadTokenList],
  jobs: {
    'fetch-source': fetchSource,
    'store-source': storeSource,
    'encode-early': encodeEarly,
    'give-up-early': giveUpEarly,
    'remove-files': removeFiles,
    'remove-source': removeSource,
    'discarded-changed': resumeFetch,
  },
  tasks: [
    { name: 'remove abandoned uploads', everyMs: 3_600_000, run: removeAbandonedUploads },
    { name: 'drop sources', everyMs: 60_000, run: dropDueSources },
    { name: 'drop sources that were needed longer', everyMs: 3_600_000, run: dropOldSources },
  ],
  open() {
    const coordinator = createUploadCoordinator()
    return {
      routes(app, context) {
        uploadRoutes(app, { ...context, coordinator })
        downloadRoute(app, context)
        uploadTokenRoutes(app, context)
      },
      publicRoutes(app, context) {
        delegatedRoutes(app, { ...context, coordinator })
        tusRoutes(app, { ...context, coordinator })
      },
    }
  },
}
