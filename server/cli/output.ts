import type { Output } from './command.ts'

type Streams = { stdout: NodeJS.WritableStream; stderr: NodeJS.WritableStream }

export function createOutput(isJson: boolean, { stdout, stderr }: Streams): Output {
  return {
    isJson,
    print: (text, value) => void stdout.write(`${isJson ? JSON.stringify(value) : text}\n`),
    warn: (sentence) =>
      void stderr.write(`${isJson ? JSON.stringify({ warning: sentence }) : `kinora: ${sentence}`}\n`),
  }
}
