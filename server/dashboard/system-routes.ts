import type { Context } from '../context.ts'
import type { App } from '../lib/http.ts'
import { System } from './system.ts'

export function systemRoutes(app: App, context: Context): void {
  const system = new System(context)
  app.get('/dashboard/system', { schema: { hide: true } }, () => system.view())
}
