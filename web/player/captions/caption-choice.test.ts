import assert from 'node:assert/strict'
import { test } from 'node:test'
import { initialCaption, preferredCaption } from './caption-choice.ts'

const captions = (...tags: string[]) =>
  tags.map((tag) => ({ srclang: tag.replace('*', ''), default: tag.endsWith('*') }))
const wishes = { remembered: undefined, showSubtitles: false, languages: ['de-AT', 'fr'] }

const initial = (tags: string[], changes: Partial<Parameters<typeof initialCaption>[1]> = {}) =>
  initialCaption(captions(...tags), { ...wishes, ...changes })?.srclang

test('captions are off at the start, unless one is the default', () => {
  assert.equal(initial(['en', 'de']), undefined)
  assert.equal(initial(['en', 'de*']), 'de')
})

test('the option shows the default, else the language of the viewer, else the first one', () => {
  const showSubtitles = true
  assert.equal(initial(['en', 'fr*', 'de'], { showSubtitles }), 'fr')
  assert.equal(initial(['en', 'fr', 'de'], { showSubtitles }), 'de')
  assert.equal(initial(['es', 'it'], { showSubtitles }), 'es')
  assert.equal(initial([], { showSubtitles }), undefined)
})

test('the choice of the viewer comes before the default and the option', () => {
  assert.equal(initial(['en', 'fr*'], { remembered: 'en' }), 'en')
  assert.equal(initial(['en', 'fr*'], { remembered: 'off', showSubtitles: true }), undefined)
  assert.equal(initial(['en', 'fr*'], { remembered: 'ja' }), 'fr', 'a language that this video lacks')
  assert.equal(initial(['en', 'fr'], { remembered: 'ja' }), undefined)
})

test('captions can be turned on after the viewer has turned them off', () => {
  assert.equal(preferredCaption(captions('en', 'fr'), { ...wishes, remembered: 'off' })?.srclang, 'fr')
})
