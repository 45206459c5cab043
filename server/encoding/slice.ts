import type { Slice } from '../slice.ts'
import type { VideoParts } from '../videos/parts.ts'
import { encodeChunksChannel } from './chunks/encode-chunk-store.ts'
import { startEncodeWorker } from './chunks/encode-worker.ts'
import { removePartial } from './early/remove-partial.ts'
import { encodingErrors } from './errors.ts'
import { finishEncoding } from './finish/finish.ts'
import { encodedSeconds, encodingFailures, encodingRetries } from './metrics.ts'
import { pauseOrResume } from './pause.ts'
import { planEncoding } from './plan/plan.ts'
import { encodingQueues } from './queues.ts'
import { encodingRoutes } from './routes.ts'
import { listenerName } from './slots.ts'

export const encoding = (parts: VideoParts): Slice => ({
  errors: encodingErrors,
  queues: encodingQueues,
  metrics: [encodedSeconds, encodingFailures, encodingRetries],
  routes: (app, context) => encodingRoutes(app, { ...context, parts }),
  listenerName,
  jobs: {
    'plan-encoding': planEncoding,
    'continue-encoding': planEncoding,
    'remove-partial': removePartial,
    'finish-encoding': finishEncoding,
    'discarded-changed': pauseOrResume,
  },
  services: [
    (context) => {
      const { wake, close } = startEncodeWorker(context)
      return { channels: { [encodeChunksChannel]: wake }, close }
    },
  ],
})
