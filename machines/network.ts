import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Namespaces, openNamespaces } from './namespaces.ts'

const execute = promisify(execFile)

const ip = (...args: string[]) => execute('ip', args)

/** One subnet with a switch in a namespace of its own. This process is connected to it, too. */
export type Network = {
  /** The address of this process. */
  ownAddress: string
  /** All addresses, such as 10.213.0.0/24. */
  subnet: string
  /** Connects a machine and returns its address. */
  connect(machine: Namespaces): Promise<string>
  close(): Promise<void>
}

const maxNetworks = 64
/** Addresses that end in 1 belong to this process. */
const firstMachine = 11

export async function openNetwork(): Promise<Network> {
  const hub = await openNamespaces('switch')
  const inHub = (...args: string[]) =>
    execute('nsenter', ['--target', String(hub.pid), '--net', 'ip', ...args])
  try {
    await inHub('link', 'add', 'bridge', 'type', 'bridge')
    await inHub('link', 'set', 'bridge', 'up')
    const { number, link } = await connectThisProcess(hub)
    await inHub('link', 'set', 'host', 'master', 'bridge', 'up')
    const prefix = `10.213.${number}`
    await ip('address', 'add', `${prefix}.1/24`, 'dev', link)
    await ip('link', 'set', link, 'up')
    let machines = 0
    return {
      ownAddress: `${prefix}.1`,
      subnet: `${prefix}.0/24`,
      async connect({ pid }) {
        const address = `${prefix}.${firstMachine + machines}`
        const port = `port${machines++}`
        // One end is created in each namespace, so both vanish with either.
        await inHub('link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid))
        await inHub('link', 'set', port, 'master', 'bridge', 'up')
        const inMachine = ['--target', String(pid), '--net', 'ip']
        await execute('nsenter', [...inMachine, 'address', 'add', `${address}/24`, 'dev', 'eth0'])
        await execute('nsenter', [...inMachine, 'link', 'set', 'eth0', 'up'])
        return address
      },
      close: () => hub.close(),
    }
  } catch (error) {
    await hub.close()
    throw error
  }
}

/** The name of the link also reserves the number of the network: the kernel accepts it only once. */
async function connectThisProcess({ pid }: Namespaces): Promise<{ number: number; link: string }> {
  for (let number = 0; number < maxNetworks; number++) {
    const link = `kinora${number}`
    try {
      await ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'host', 'netns', String(pid))
      return { number, link }
    } catch (error) {
      if (!String(error).includes('File exists')) throw error
    }
  }
  throw new Error(`${maxNetworks} networks of machines exist already`)
}
