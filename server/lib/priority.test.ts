import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { test } from 'node:test'
import { setSessionPriority } from './priority.ts'

test('a low priority applies to the process and to its session', async () => {
  const child = spawn('sleep', ['1000'], { detached: true })
  setSessionPriority(child, 19)
  assert.equal(getPriority(child.pid), 19)
  const session = `/proc/${child.pid}/autogroup`
  // Kernels without this feature do not have the file.
  if (existsSync(session)) assert.match(readFileSync(session, 'utf8'), /nice 19$/m)
  child.kill()
  await once(child, 'exit')
  setSessionPriority(child, 19)
})
