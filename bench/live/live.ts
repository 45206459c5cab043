import { printTable, type Row } from '../table.ts'

/** In the order of their run. Each starts a service of its own. */
const parts: Record<string, () => Promise<Row[]>> = {
  latency: async () => (await import('./latency.ts')).latency(),
  'pass-through': async () => (await import('./pass-through.ts')).passThrough(),
  srt: async () => (await import('./srt.ts')).srt(),
  loss: async () => (await import('./loss.ts')).loss(),
  whip: async () => (await import('./whip.ts')).whip(),
  capacity: async () => (await import('./capacity.ts')).capacity(),
  viewers: async () => (await import('./viewers.ts')).viewers(),
  recording: async () => (await import('./recording.ts')).recording(),
  memory: async () => [
    ...(await (await import('./misbehaving.ts')).misbehaving()),
    ...(await (await import('./misbehaving-whip.ts')).misbehavingWhip()),
  ],
}

/** Without arguments, all parts. */
export async function live(names: string[]): Promise<void> {
  const rows: Row[] = []
  for (const [name, measure] of Object.entries(parts)) {
    if (names.length > 0 && !names.includes(name)) continue
    console.log(`Measuring ${name}…`)
    rows.push(...(await measure()))
  }
  printTable('Live', rows)
}
