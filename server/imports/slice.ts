import type { Slice } from '../slice.ts'
import { importsErrors } from './errors.ts'
import { importRoutes } from './routes.ts'
import { importsChannel } from './run-store.ts'
import { Import, ImportItem, ImportItemList, ImportList, ReceivedItem } from './schemas.ts'
import { startImports } from './service.ts'
import { cancelForgotten, settleImports } from './settle.ts'

export const imports: Slice = {
  errors: importsErrors,
  schemas: [Import, ImportItem, ImportList, ImportItemList, ReceivedItem],
  routes: importRoutes,
  tasks: [
    { name: 'settle imports', everyMs: 2_000, run: settleImports },
    { name: 'cancel forgotten imports', everyMs: 3_600_000, run: cancelForgotten },
  ],
  services: [
    (context) => {
      const { wake, close } = startImports(context)
      return { channels: { [importsChannel]: wake }, close }
    },
  ],
}
