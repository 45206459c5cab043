import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { FileStoreError } from './files/files.ts'
import { RunError, run } from './run.ts'

function logged(err: Error): { line: string; err: Record<string, string> } {
  let line = ''
  pino({ base: undefined }, { write: (text) => (line += text) }).warn({ err }, 'failed')
  return { line, err: JSON.parse(line).err }
}

const countOf = (text: string, part: string) => text.split(part).length - 1

test('the log of a failed command shows the command and the last 2 KB of its stderr once', async () => {
  const script =
    'i=0; while [ $i -lt 2000 ]; do echo "this is line $i of many"; i=$((i + 1)); done >&2; exit 3'
  const error: unknown = await run('sh', ['-c', script]).catch((error) => error)
  assert.ok(error instanceof RunError)
  assert.ok(error.stderr.length > 40_000)
  const wrapped = [error, new Error('outer', { cause: error }), new FileStoreError('full', error)]
  for (const each of wrapped) {
    const { line, err } = logged(each)
    assert.equal(countOf(line, 'this is line 1999 of many'), 1)
    assert.doesNotMatch(line, /this is line 1900 of many/)
    assert.match(err.message!, /exited with code 3: sh -c/)
    assert.match(err.stack!, /exited with code 3\n +at /)
    assert.ok(line.length < 5_000, `${line.length} bytes`)
  }
})

test('the stack of a failed command keeps a command with special characters out', () => {
  const error = new RunError('was stopped', { command: "ffmpeg -vf '$&'", stderr: '$1' })
  assert.match(error.stack!, /^\w*Error: was stopped\n/)
  assert.deepEqual([error.command, error.stderr], ["ffmpeg -vf '$&'", '$1'])
})
