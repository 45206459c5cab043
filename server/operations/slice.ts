import { removeOrphanedWorkFolders } from '../lib/work.ts'
import type { Slice } from '../slice.ts'
import { exportInstallation } from './installation-metrics.ts'
import { protectInternalRoutes } from './own-hosts.ts'
import { exportProcess } from './process-metrics.ts'
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
  open(context) {
    exportProcess(context)
    if (context.config.roles.has('api')) exportInstallation(context)
    return { processRoutes: operationsRoutes }
  },
}
