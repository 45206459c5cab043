import type { ClientBase, Pool, PoolClient } from 'pg'

/** A connection for work that takes hours, or that waits that long. */
export async function connect(pool: Pool): Promise<PoolClient> {
  const client = await pool.connect()
  try {
    await removeTimeouts(client)
    return client
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** Managed servers often limit statements and idle sessions. Which of these settings exist depends on the version. */
export async function removeTimeouts(client: ClientBase): Promise<void> {
  await client.query(
    `select set_config(name, '0', false) from pg_settings
     where name in ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_session_timeout',
       'idle_in_transaction_session_timeout')`,
  )
}
