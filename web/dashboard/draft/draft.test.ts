import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accept, changedNames, changeOf, conflicts, type Draft, decide, follow } from './draft.ts'

type Values = { title: string; description: string; tags: string[]; public: boolean }

const stored: Values = { title: 'One', description: '', tags: ['a'], public: true }
const draft = (typed: Partial<Values>): Draft<Values> => ({ base: stored, typed: { ...stored, ...typed } })

test('only what was changed is sent', () => {
  assert.deepEqual(changeOf(draft({})), {})
  assert.deepEqual(changeOf(draft({ title: 'Two', tags: ['a', 'b'] })), { title: 'Two', tags: ['a', 'b'] })
})

test('what was changed elsewhere appears, and what was typed here stays', () => {
  const latest = { ...stored, description: 'from another tab', public: false }
  const followed = follow(draft({ title: 'Two' }), latest)
  assert.deepEqual(followed.typed, { ...latest, title: 'Two' })
  assert.deepEqual(changedNames(followed), ['title'])
  assert.deepEqual(conflicts(followed, latest), [])
})

test('a change of the same attribute is a conflict until somebody decides', () => {
  const latest = { ...stored, title: 'Three', tags: [] }
  const followed = follow(draft({ title: 'Two' }), latest)
  assert.deepEqual(conflicts(followed, latest), ['title'])
  assert.deepEqual(followed.typed, { ...latest, title: 'Two' })
  assert.deepEqual(conflicts(follow(followed, latest), latest), ['title'])

  const mine = decide(followed, latest, 'title', true)
  assert.deepEqual(conflicts(mine, latest), [])
  assert.deepEqual(changeOf(mine), { title: 'Two' })
  const theirs = decide(followed, latest, 'title', false)
  assert.deepEqual(changeOf(theirs), {})
  assert.equal(theirs.typed.title, 'Three')
})

test('each conflict is decided on its own', () => {
  const latest = { ...stored, title: 'Three', tags: ['c'] }
  const followed = follow(draft({ title: 'Two', tags: ['b'] }), latest)
  const decided = decide(followed, latest, 'title', true)
  assert.deepEqual(conflicts(decided, latest), ['tags'])
  assert.deepEqual(decided.typed.tags, ['b'])
})

test('the same change in both tabs is not a conflict', () => {
  const latest = { ...stored, title: 'Two' }
  assert.deepEqual(conflicts(draft({ title: 'Two' }), latest), [])
  assert.deepEqual(changeOf(follow(draft({ title: 'Two' }), latest)), {})
})

test('what is typed while the draft is being saved stays', () => {
  const sent = draft({ title: 'Two', tags: ['b'] })
  const saved = { ...stored, title: 'Two', tags: ['b'], description: 'from another tab' }
  assert.deepEqual(changeOf(accept(sent, sent, saved)), {})
  const later = accept(draft({ title: 'Two', tags: ['c'] }), sent, saved)
  assert.deepEqual(later, { base: saved, typed: { ...saved, tags: ['c'] } })
  const reverted = accept(draft({ title: 'One', tags: ['b'] }), sent, saved)
  assert.deepEqual(changeOf(reverted), { title: 'One' })
})
