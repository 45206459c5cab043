import { parseArgs } from 'node:util'
import { lacksNftables } from '../machines/links.ts'
import { lacksMachines } from '../machines/requirements.ts'
import { runChaos } from './run.ts'

// `npm run chaos -- --minutes N --seed S` runs an installation of several machines under load, injects faults, and audits
// what is left. The seed chooses the faults and their targets.

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
    faults: { type: 'string' },
  },
})
const lacking = lacksMachines || lacksNftables
if (lacking) {
  console.error(`Faults cannot be injected here: ${lacking}.`)
  process.exit(1)
}
const [minutes, seed] = [Number(values.minutes), Number(values.seed)]
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error('Usage: npm run chaos -- --minutes N --seed S [--faults MAX]')
  process.exit(2)
}
const begun = Date.now()
const log = (text: string) =>
  console.log(`${((Date.now() - begun) / 1_000).toFixed(1).padStart(7)} s  ${text}`)
log(`seed ${seed}`)
const maxFaults = values.faults === undefined ? {} : { maxFaults: Number(values.faults) }
const { faults, problems, summary } = await runChaos({ seed, minutes, log, ...maxFaults })
console.table(faults)
console.table(summary)
const total = faults.reduce((sum, { times }) => sum + times, 0)
if (problems.length > 0) {
  console.error(`${problems.length} problems after ${total} faults, seed ${seed}:\n${problems.join('\n')}`)
  process.exit(1)
}
console.log(`No problems after ${total} faults, seed ${seed}.`)
process.exit(0)
