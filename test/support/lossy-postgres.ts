import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'

/**
 * A proxy between a service and its Postgres that can lose the response to a commit: the transaction is committed, and
 * the service sees a broken connection.
 */
export type LossyPostgres = {
  /** The value for KINORA_DATABASE_URL. */
  url: string
  /**
   * Closes the next connection with a matching statement instead of forwarding the end of its transaction. Resolves
   * when the connection is closed.
   */
  loseCommitOf(statement: RegExp): Promise<void>
  /** Closes all connections and accepts none until `start`. Resolves when it has closed a new connection. */
  stop(): Promise<void>
  /** Closes all connections and refuses new ones with this SQLSTATE until `start`. Resolves when it has refused one. */
  refuse(code: string, message: string): Promise<void>
  start(): void
  /** Keeps all connections open and forwards nothing any more. */
  freeze(): void
}

/** ReadyForQuery outside a transaction: the end of the response to a commit or to a single statement. */
const readyAndIdle = Buffer.from('5a0000000549', 'hex')

export async function lossyPostgres(
  t: { after(end: () => unknown): void },
  database: string,
): Promise<LossyPostgres> {
  const target = new URL(database)
  const folder = target.searchParams.get('host')
  const open = () =>
    folder ? connect(join(folder, '.s.PGSQL.5432')) : connect(Number(target.port || 5432), target.hostname)
  let armed: { statement: RegExp; done: () => void } | undefined
  let refusal: { response: Buffer; done: () => void } | undefined
  let isFrozen = false
  const sockets = new Set<Socket>()

  const server = createServer((client) => {
    if (refusal) {
      const { response, done } = refusal
      // After the startup message, to which this is the response.
      client.on('error', () => {}).once('data', () => client.end(response))
      client.once('close', done)
      if (response.length === 0) client.destroy()
      return
    }
    const postgres = open()
    let lost: typeof armed
    for (const socket of [client, postgres]) {
      sockets.add(socket)
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket)
          client.destroy()
          postgres.destroy()
        })
    }
    client.on('data', (chunk) => {
      if (isFrozen) return
      if (armed?.statement.test(chunk.toString('latin1'))) {
        lost = armed
        armed = undefined
      }
      postgres.write(chunk)
    })
    postgres.on('data', (chunk) => {
      if (isFrozen) return
      if (!lost || !chunk.subarray(-readyAndIdle.length).equals(readyAndIdle)) return client.write(chunk)
      client.destroy()
      lost.done()
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  const refuseAll = (response: Buffer) =>
    new Promise<void>((done) => {
      refusal = { response, done }
      for (const socket of sockets) socket.destroy()
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
    freeze() {
      isFrozen = true
    },
    stop: () => refuseAll(Buffer.alloc(0)),
    refuse(code, message) {
      const fields = Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`)
      const header = Buffer.from('E....')
      header.writeUInt32BE(fields.length + 4, 1)
      return refuseAll(Buffer.concat([header, fields]))
    },
    start() {
      refusal = undefined
    },
  }
}
