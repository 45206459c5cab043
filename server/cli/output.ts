import type { Output } from './command.ts'

export function createOutput(isJson: boolean, { stdout, stderr }: NodeJS.Process): Output {
  return {
    isJson,
    print(text, value) {
      if (stdout.listenerCount('error', exitOnBrokenPipe) === 0) stdout.on('error', exitOnBrokenPipe)
      stdout.write(`${isJson ? JSON.stringify(value) : text}\n`)
    },
    warn: (sentence) =>
      void stderr.write(`${isJson ? JSON.stringify({ warning: sentence }) : `warning: ${sentence}`}\n`),
  }
}

/** The reader of a pipe may stop early: kinora videos list | head -1 */
function exitOnBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  process.exit()
}
