import { call, query, type Service, waitFor } from '../harness.ts'

/** Waits until an import has ended, and returns it. Nothing waits for the next look at what a service prepares. */
export async function finishImport({ url, database }: Service, importId: string) {
  let shown: Awaited<ReturnType<typeof call>>['body']
  await waitFor(
    async () => {
      await query(
        database,
        `update import_items set next_at = now() where state = 'waiting' and run_id = $1`,
        [importId],
      )
      await query(database, 'update import_runs set next_at = now() where id = $1', [importId])
      shown = (await call(`${url}/imports/${importId}`)).body
      return shown.state !== 'running'
    },
    () => JSON.stringify(shown),
    async () => JSON.stringify(shown),
  )
  return shown
}
