import { productionKey } from '../test/support/harness.ts'
import { openInstallation } from './installation.ts'
import { lacksMachines } from './requirements.ts'

// `npm run machines` runs an installation of several machines on this host until Ctrl-C.

if (lacksMachines) {
  console.error(`Machines cannot be created here: ${lacksMachines}.`)
  process.exit(1)
}
const stop = Promise.withResolvers<void>()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.resolve())
const installation = await openInstallation({ report: (step) => console.log(`${step}…`) })
const { postgres, store, kinora, proxy } = installation
const rows = [
  ...[...postgres.machines, store.machine].map(({ name, address }) => ({
    machine: name,
    address,
    process: '',
    url: '',
  })),
  ...kinora.map((each) => ({
    machine: each.name,
    address: each.address,
    process: each.service().pid,
    url: each.roles === 'live' ? each.rtmpUrl : each.url,
  })),
  ...(proxy ? [{ machine: 'proxy', address: proxy.machine.address, process: '', url: proxy.url }] : []),
]
console.table(rows)
console.log(
  `\nAPI key: ${productionKey}\nDashboard: ${installation.api[0]!.url}/dashboard, password: machines`,
)
console.log(
  `A shell on a machine: nsenter --target PROCESS --net --pid --mount --uts --ipc\n\nCtrl-C ends all machines.`,
)
await stop.promise
await installation.close()
process.exit(0)
