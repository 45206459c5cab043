import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RunError, run } from '../lib/run.ts'
import { blameOf, explain, type Failure, failureOf, isFinal } from './failure.ts'

async function failed(script: string, limits = {}): Promise<RunError> {
  const error = await run('sh', ['-c', script], { limits }).catch((error) => error)
  assert.ok(error instanceof RunError)
  return error
}

const says = (words: string) => `echo '${words}' >&2; exit 1`

test('the file is blamed only for failures that it caused', async () => {
  const cases: [script: string, failure: Failure, blame: string][] = [
    [says('in.mp4: Invalid data found when processing input'), 'rejected', 'file'],
    [says('Error marking filters as finished'), 'rejected', 'file'],
    [says('Number of streams exceeds max_streams\nx: Cannot allocate memory'), 'rejected', 'file'],
    ['kill -KILL $$', 'killed', 'environment'],
    ['kill -TERM $$', 'killed', 'environment'],
    ['kill -SEGV $$', 'crashed', 'environment'],
    ['kill -XFSZ $$', 'rejected', 'file'],
    [says('in.mp4: Cannot allocate memory'), 'memory', 'environment'],
    ['echo "what(): std::bad_alloc" >&2; kill -ABRT $$', 'memory', 'environment'],
    [says('out.mp4: No space left on device\nConversion failed!'), 'host', 'environment'],
    [says('in.mp4: No such file or directory'), 'host', 'environment'],
    ['exec /no/such/program', 'host', 'environment'],
  ]
  for (const [script, failure, blame] of cases) {
    const error = await failed(script)
    assert.deepEqual([failureOf(error), blameOf(error)], [failure, blame], script)
    assert.match(explain(error), /^[A-Z][^/]+\.$/)
  }
  const missing = await run('/no/such/program', []).catch((error) => error)
  assert.equal(failureOf(missing), 'host')
})

test('CPU time and idle time are limited, slowness is not', async () => {
  const busy = await failed('while :; do :; done', { cpuMs: 200 })
  assert.match(busy.message, /used more than 0.2 seconds of CPU time/)
  assert.deepEqual([failureOf(busy), blameOf(busy), isFinal(busy, 1)], ['cpu', 'file', true])
  const idle = await failed('sleep 600', { idleMs: 100 })
  assert.match(idle.message, /did nothing for 0.1 seconds/)
  assert.deepEqual([failureOf(idle), blameOf(idle), isFinal(idle, 1)], ['stalled', 'environment', false])
  // Runs longer than the idle limit, without output but always busy.
  const work = 'i=0; while [ $i -lt 1000000 ]; do i=$((i + 1)); done; echo done'
  const limits = { idleMs: 1_000, cpuMs: 60_000 }
  // Repeated if the machine gave it no CPU time for a second.
  let result = await run('sh', ['-c', work], { limits }).catch((error) => error)
  for (let i = 0; i < 20 && result.limit === 'idle'; i++)
    result = await run('sh', ['-c', work], { limits }).catch((error) => error)
  assert.equal(result.stdout, 'done\n', String(result))
})

test('kills are retried for a long time, crashes and memory shortages a few times', async () => {
  const killed = await failed('kill -KILL $$')
  assert.deepEqual([isFinal(killed, 19), isFinal(killed, 20)], [false, true])
  const crashed = await failed('kill -SEGV $$')
  assert.deepEqual([isFinal(crashed, 2), isFinal(crashed, 3)], [false, true])
  const rejected = await failed(says('Invalid data'))
  assert.equal(isFinal(rejected, 1), true)
  const host = await failed('exit 127')
  assert.equal(isFinal(host, 1_000), false)
})
