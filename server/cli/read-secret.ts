import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { CommandError } from './errors.ts'

/** Asks for it on a terminal, without showing what is typed. Elsewhere it is the first line of stdin. */
export async function readSecret(prompt: string): Promise<string> {
  const { stdin, stderr } = process
  if (!stdin.isTTY) return (await text(stdin)).split('\n')[0]!.trim()
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: stdin, output: hidden, terminal: true })
  // From here on, the terminal does not echo.
  stderr.write(prompt)
  const cancelled = new Promise<never>((_, reject) => {
    terminal.once('close', () => reject(new CommandError('Cancelled.')))
  })
  try {
    return (await Promise.race([terminal.question(''), cancelled])).trim()
  } finally {
    terminal.close()
    stderr.write('\n')
  }
}
