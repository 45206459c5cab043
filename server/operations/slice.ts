import { removeOrphanedWorkFolders } from '../lib/work.ts'
import type { Slice } from '../slice.ts'
import { operationsRoutes } from './routes.ts'

export const operations: Slice = {
  processRoutes: operationsRoutes,
  tasks: [
    {
      name: 'clear temporary folders',
      everyMs: 3_600_000,
      run: ({ config, now }) => removeOrphanedWorkFolders(config.dataDir, now()),
    },
  ],
}
