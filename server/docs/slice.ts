import type { Slice } from '../slice.ts'
import { docsRoutes } from './routes.ts'

export const docs: Slice = {
  open: ({ publicUrl, errorKinds }) => ({
    publicRoutes: (app) => docsRoutes(app, { publicUrl, errorKinds }),
  }),
}
