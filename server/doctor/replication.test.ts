import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeReplication, type Replication } from './replication.ts'

const replica = { name: 'db2', state: 'streaming', isSynchronous: false, bytesBehind: 2_000 }
const judge = (found: Partial<Replication>, expectsReplica = true) => {
  const all = { primary: '10.0.0.1:5432', isSynchronous: false, replicas: [replica], ...found }
  const { state, message } = judgeReplication(all, expectsReplica)
  return `${state}: ${message}`
}

test('the primary and its replicas are described', () => {
  const primary = 'The primary 10.0.0.1:5432 has'
  assert.equal(judge({}), `ok: ${primary} the asynchronous replica db2 (streaming, 2 kB behind).`)
  const synchronous = { ...replica, isSynchronous: true, bytesBehind: 0 }
  assert.equal(
    judge({ isSynchronous: true, replicas: [synchronous] }),
    `ok: ${primary} the synchronous replica db2 (streaming, 0 bytes behind).`,
  )
  assert.equal(judge({ primary: null, replicas: [] }, false), 'ok: The primary has no replica.')
})

test('a replica that is missing or far behind is a warning', () => {
  assert.match(judge({ replicas: [] }), /^warning: .* has no replica\.$/)
  assert.match(judge({ replicas: [{ ...replica, bytesBehind: 1e9 }] }), /^warning: .*1 GB behind/)
  assert.match(judge({ isSynchronous: true }), /^warning: .* makes every write wait for one/)
})

test('nothing is claimed about replicas that this user may not see', () => {
  const hidden = { ...replica, state: null, bytesBehind: null }
  assert.match(judge({ isSynchronous: true, replicas: [hidden] }), /^ok: .* the replica db2\.$/)
})
