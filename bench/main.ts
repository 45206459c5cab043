import { api } from './api.ts'

/** `npm run bench -- <name>`. */
const benches: Record<string, () => Promise<void>> = { api }

const [name = ''] = process.argv.slice(2)
const bench = benches[name]
if (!bench) {
  console.error(`Which benchmark? npm run bench -- ${Object.keys(benches).join(' | ')}`)
  process.exit(2)
}
await bench()
