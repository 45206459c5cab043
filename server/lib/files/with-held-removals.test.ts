import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Files } from './files.ts'
import { withHeldRemovals } from './with-held-removals.ts'

/** A store that records what is done while the lock of removals is held. */
function openFake({ isRemote, isHeld }: { isRemote: boolean; isHeld: boolean }) {
  const calls: string[] = []
  let isLocked = false
  const record = (call: string) => calls.push(isLocked ? `locked: ${call}` : call)
  const files = {
    pathOf: (key: string) => (isRemote ? undefined : `/${key}`),
    async finishUpload(_handle: string, _key: string, _chunks: unknown, options = { keepsChunks: false }) {
      record(options.keepsChunks ? 'join' : 'join and remove')
      return { size: 1 }
    },
    abandonUpload: async () => record('remove'),
  }
  const held = withHeldRemovals(files as unknown as Files, async (work) => {
    if (isHeld) return false
    isLocked = true
    await work().finally(() => {
      isLocked = false
    })
    return true
  })
  return { held, calls }
}

const expected = [
  { isRemote: false, isHeld: false, calls: ['locked: join and remove'] },
  { isRemote: false, isHeld: true, calls: ['join'] },
  { isRemote: true, isHeld: false, calls: ['join', 'locked: remove'] },
  { isRemote: true, isHeld: true, calls: ['join'] },
]

test('the lock of removals is not held while a remote store joins chunks', async () => {
  for (const { isRemote, isHeld, calls } of expected) {
    const fake = openFake({ isRemote, isHeld })
    assert.deepEqual(await fake.held.finishUpload('handle', 'key', []), { size: 1 })
    assert.deepEqual(fake.calls, calls)
  }
})
