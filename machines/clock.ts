import { readFileSync } from 'node:fs'

// Loaded before the service, so that its clock can be wrong: everything that reads `Date` sees a time that differs by the
// milliseconds in a file. The file is read again and again, so the clock can jump while the service runs.

const file = process.env.MACHINE_CLOCK ?? ''
const readEveryMs = 100
let offsetMs = 0

function read(): void {
  try {
    offsetMs = Number(readFileSync(file, 'utf8')) || 0
  } catch {
    // The clock is right until the file exists.
  }
}

read()
setInterval(read, readEveryMs).unref()

const RealDate = Date
const now = () => RealDate.now() + offsetMs

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(
      target,
      args.length === 0 ? [now()] : args,
      newTarget === globalThis.Date ? target : newTarget,
    ),
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})
