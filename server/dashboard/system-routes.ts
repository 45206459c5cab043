import type { App } from '../lib/http.ts'
import type { OpenContext } from '../slice.ts'
import { System } from './system.ts'

export function systemRoutes(app: App, context: OpenContext): void {
  const system = new System(context)
  app.get('/dashboard/system', { schema: { hide: true } }, () => system.view())
}
