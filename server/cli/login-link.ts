import type { Config } from '../config.ts'
import { findRunningService } from '../lib/running-services.ts'
import { command } from './command.ts'

export const loginLinkCommand = command({
  name: 'login-link',
  summary: 'Print a link that logs in to the dashboard once',
  operands: [],
  options: {},
  details: [
    'Use it if the password of the dashboard is lost. Anyone who opens the link within 15 minutes is logged in and can choose a new password.',
  ],
  examples: ['kinora login-link'],
  json: '`{"url", "expiresAt"}`',
  async run({ output }) {
    // Most commands finish faster than the database module loads, so it is imported on demand.
    const [{ withDatabase }, { createLink, linkMinutes, linkUrl }] = await Promise.all([
      import('./with-database.ts'),
      import('../dashboard/links.ts'),
    ])
    const now = new Date()
    const { config, token } = await withDatabase(async ({ config, db }) => ({
      config,
      token: await createLink(db, now),
    }))
    const url = linkUrl(await findPublicUrl(config), token)
    const expiresAt = new Date(now.getTime() + linkMinutes * 60_000)
    output.print(`${url}\nThe link works once, within ${linkMinutes} minutes.`, { url, expiresAt })
  },
})

/** Where the browser finds the service. The settings of the running service may differ from those of this command. */
async function findPublicUrl({ publicUrl, dataDir, tls, port }: Config): Promise<string> {
  const running = await findRunningService(dataDir)
  return running.publicUrl ?? publicUrl ?? `${tls ? 'https' : 'http'}://localhost:${port}`
}
