import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'

/**
 * Stands between a service and its Postgres, and can lose the answer to a commit: the transaction counts, and the
 * service sees a connection that broke.
 */
export type LossyPostgres = {
  /** For KINORA_DATABASE_URL. */
  url: string
  /**
   * Breaks the next connection whose statements match, in place of the answer that its transaction is over. Resolves
   * when that has happened.
   */
  loseCommitOf(statement: RegExp): Promise<void>
}

/** ReadyForQuery outside of a transaction, which ends the answer to a commit or to a statement by itself. */
const readyAndIdle = Buffer.from('5a0000000549', 'hex')

export async function lossyPostgres(
  t: { after(end: () => unknown): void },
  database: string,
): Promise<LossyPostgres> {
  const far = new URL(database)
  const folder = far.searchParams.get('host')
  const open = () =>
    folder ? connect(join(folder, '.s.PGSQL.5432')) : connect(Number(far.port || 5432), far.hostname)
  let armed: { statement: RegExp; done: () => void } | undefined
  const sockets = new Set<Socket>()

  const server = createServer((near) => {
    const postgres = open()
    let lost: typeof armed
    for (const socket of [near, postgres]) {
      sockets.add(socket)
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket)
          near.destroy()
          postgres.destroy()
        })
    }
    near.on('data', (chunk) => {
      if (armed?.statement.test(chunk.toString('latin1'))) {
        lost = armed
        armed = undefined
      }
      postgres.write(chunk)
    })
    postgres.on('data', (chunk) => {
      if (!lost || !chunk.subarray(-readyAndIdle.length).equals(readyAndIdle)) return near.write(chunk)
      near.destroy()
      lost.done()
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  const url = new URL(database)
  url.searchParams.delete('host')
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    loseCommitOf: (statement) =>
      new Promise((done) => {
        armed = { statement, done }
      }),
  }
}
