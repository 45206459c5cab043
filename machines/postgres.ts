import { chown, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chooseAccount } from '../server/lib/postgres/account.ts'
import { findPackage, prepareBinaries } from '../server/lib/postgres/binaries.ts'
import { waitFor } from '../test/support/harness.ts'
import type { Machine, Program } from './machine.ts'

export type PostgresMachine = { machine: Machine; url: string; server(): Program; launch(): Promise<void> }

/** Starts the embedded Postgres as an ordinary server on a machine of its own. */
export async function openPostgres(machine: Machine, subnet: string): Promise<PostgresMachine> {
  const account = await chooseAccount(machine.folder, machine.folder)
  const { initdb, postgres, env } = await prepareBinaries(findPackage(), machine.folder, account.user)
  const asUser = ['setpriv', `--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups']
  const cluster = join(machine.folder, 'cluster')
  await machine.run([
    'install',
    '-d',
    '-m',
    '0700',
    '-o',
    String(account.uid),
    '-g',
    String(account.gid),
    cluster,
  ])
  const create = [initdb, '-D', cluster, '-U', 'kinora', '-A', 'trust', '-E', 'UTF8', '--no-sync']
  await machine.run([...asUser, ...create], env)
  const access = machine.path(join(cluster, 'pg_hba.conf'))
  await writeFile(access, `local all all trust\nhost all all ${subnet} trust\n`, { flag: 'a' })
  await chown(access, account.uid, account.gid)
  const options = {
    listen_addresses: '*',
    max_connections: '400',
    jit: 'off',
    max_parallel_workers_per_gather: '0',
    unix_socket_directories: cluster,
  }
  const settings = Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  let server: Program | undefined
  return {
    machine,
    url: `postgres://kinora@${machine.address}:5432/postgres`,
    server: () => server!,
    async launch() {
      const started = await machine.start([...asUser, postgres, '-D', cluster, ...settings], { env })
      server = started
      await waitFor(() => started.output().includes('ready to accept connections'), started.output)
    },
  }
}
