import { removeOrphanedWorkFolders } from '../lib/work.ts'
import type { Slice } from '../slice.ts'
import { protectInternalRoutes } from './own-hosts.ts'
import { operationsRoutes } from './routes.ts'

export const operations: Slice = {
  hooks: protectInternalRoutes,
  tasks: [
    {
      name: 'clear temporary folders',
      everyMs: 3_600_000,
      run: ({ config, now }) => removeOrphanedWorkFolders(config.dataDir, now()),
    },
  ],
  open: ({ metrics }) => ({
    processRoutes: (app, context) => operationsRoutes(app, { ...context, metrics }),
  }),
}
