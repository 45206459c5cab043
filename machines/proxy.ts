import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheServer, configuration, findNginx } from '../bench/nginx.ts'
import { waitFor } from '../test/support/harness.ts'
import type { Machine } from './machine.ts'

export type ProxyMachine = { machine: Machine; url: string }

/** Why there is no proxy, or false. */
export const lacksProxy: string | false = findNginx() ? false : 'nginx is not installed'

/** nginx with the cache of deploy/nginx-cache.conf, in front of all `api` machines. */
export async function openProxy(machine: Machine, upstreams: string[]): Promise<ProxyMachine> {
  const { folder, address } = machine
  const file = join(folder, 'nginx.conf')
  await writeFile(file, configuration(folder, await cacheServer(folder, '80', upstreams)))
  const nginx = await machine.start([findNginx()!, '-c', file, '-e', join(folder, 'error.log')])
  const url = `http://${address}`
  await waitFor(async () => {
    if (!nginx.isRunning()) throw new Error(`nginx did not start:\n${nginx.output()}`)
    return await fetch(`${url}/healthz`).then(Boolean, () => false)
  }, nginx.output)
  return { machine, url }
}
