import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Details } from '../../../api/video.ts'
import { changedNames, changeOf, conflicts, type Draft, follow, rebase } from './draft.ts'

const stored: Details = {
  title: 'One',
  description: '',
  tags: ['a'],
  metadata: [],
  public: true,
  panoramic: false,
  mp4Support: true,
  language: null,
  playerId: null,
}
const draft = (typed: Partial<Details>): Draft => ({ base: stored, typed: { ...stored, ...typed } })

test('only what was changed is sent', () => {
  assert.deepEqual(changeOf(draft({})), {})
  assert.deepEqual(changeOf(draft({ title: 'Two', tags: ['a', 'b'] })), { title: 'Two', tags: ['a', 'b'] })
  const pairs = [
    { key: 'x', value: '1' },
    { key: '', value: '' },
  ]
  assert.deepEqual(changeOf(draft({ metadata: pairs })), { metadata: [{ key: 'x', value: '1' }] })
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

  const mine = rebase(followed, latest, ['title'])
  assert.deepEqual(conflicts(mine, latest), [])
  assert.deepEqual(changeOf(mine), { title: 'Two' })
  const theirs = rebase(followed, latest, [])
  assert.deepEqual(changeOf(theirs), {})
  assert.equal(theirs.typed.title, 'Three')
})

test('the same change in both tabs is no conflict', () => {
  const latest = { ...stored, title: 'Two' }
  assert.deepEqual(conflicts(draft({ title: 'Two' }), latest), [])
  assert.deepEqual(changeOf(follow(draft({ title: 'Two' }), latest)), {})
})
