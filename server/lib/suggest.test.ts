import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findSimilar } from './suggest.ts'

test('a word with a typo is found, and the closest one wins', () => {
  const words = ['upload', 'videos', 'keys', 'live', 'files', 'list']
  for (const [typed, meant] of [
    ['uplaod', 'upload'],
    ['uploads', 'upload'],
    ['vidoes', 'videos'],
    ['video', 'videos'],
    ['key', 'keys'],
    ['lsit', 'list'],
    ['file', 'files'],
    ['Upload', 'upload'],
  ] as const)
    assert.equal(findSimilar(typed, words), meant, typed)
})

test('a word that is not similar to any is not replaced', () => {
  for (const typed of ['', 'x', 'help', 'stream', 'publish'])
    assert.equal(findSimilar(typed, ['upload', 'videos', 'keys', 'live']), undefined, typed)
})
