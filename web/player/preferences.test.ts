import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readPlayback, savePlayback } from './preferences.ts'

/** Replaces the storage of the browser. */
function useStorage(storage: Partial<Storage> | undefined): void {
  Object.defineProperty(globalThis, 'localStorage', { value: storage, configurable: true })
}

test('without storage, choices are valid until the page is closed', () => {
  const deny = () => {
    throw new Error('denied')
  }
  useStorage({ getItem: deny, setItem: deny })
  assert.deepEqual(readPlayback(), {})
  savePlayback({ volume: 0.5, muted: true })
  savePlayback({ rate: 1.5 })
  assert.deepEqual(readPlayback(), { volume: 0.5, muted: true, rate: 1.5 })
  let stored = ''
  useStorage({
    getItem: () => stored,
    setItem(_key: string, value: string) {
      stored = value
    },
  })
  savePlayback({ volume: 1 })
  assert.equal(stored, '{"volume":1,"muted":true,"rate":1.5}')
})

test('stored values that cannot be right are ignored', () => {
  for (const [stored, expected] of [
    ['{"volume":2,"muted":"yes","rate":0}', {}],
    ['{"volume":-1,"rate":16}', {}],
    ['{"volume":null,"rate":"2","muted":false}', { muted: false }],
    ['[]', {}],
    ['null', {}],
    ['"x"', {}],
    ['{', {}],
    ['{"volume":0,"rate":2}', { volume: 0, rate: 2 }],
  ] as const) {
    useStorage({ getItem: () => stored })
    assert.deepEqual(readPlayback(), expected, stored)
  }
})
