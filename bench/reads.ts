import pg from 'pg'
import { median, Resources, startKinora, withTemporaryFolder } from './servers.ts'

const rounds = 5

/** A service with the API alone, and a connection to its database, which the benchmark fills. */
export async function withApi(work: (url: string, client: pg.Client) => Promise<void>): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const database = await resources.postgres(folder)
    const { url } = await resources.server(
      startKinora(folder, {
        KINORA_DATABASE_URL: database,
        KINORA_RATE_LIMITS: 'off',
        KINORA_ROLES: 'api',
      }),
    )
    const client = new pg.Client(database)
    await client.connect()
    resources.add(() => client.end())
    await work(url, client)
  })
}

/** The median of several runs, after a warm-up run. */
export async function medianMs(work: () => Promise<unknown>): Promise<number> {
  await work()
  const times: number[] = []
  for (let n = 0; n < rounds; n++) {
    const start = performance.now()
    await work()
    times.push(performance.now() - start)
  }
  return median(times)
}

export const formatMs = (value: number) => `${value.toFixed(1)} ms`
