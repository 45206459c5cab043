import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { selectiveTrigrams } from './search-store.ts'

test('the trigrams for the index come from the two longest words, in the order of the text', () => {
  assert.deepEqual(selectiveTrigrams('how to grow tomatoes on a balcony'), ['tom', 'oes', 'bal', 'ony'])
  assert.deepEqual(selectiveTrigrams('part 12'), ['part'])
  assert.deepEqual(selectiveTrigrams('a b'), [])
})

test('a text that contains the search term contains its trigrams in the same order', () => {
  // All characters except surrogates. The predefined unit of fast-check would first make a list of all of them.
  const codePoint = fc.oneof(fc.integer({ max: 0xd7ff, min: 0 }), fc.integer({ max: 0x10ffff, min: 0xe000 }))
  const text = fc.string({ unit: codePoint.map((code) => String.fromCodePoint(code)), maxLength: 40 })
  fc.assert(
    fc.property(text, text, text, (before, part, after) => {
      let rest = before + part + after
      for (const group of selectiveTrigrams(part)) {
        const at = rest.indexOf(group)
        assert.notEqual(at, -1)
        assert.ok(group.isWellFormed())
        rest = rest.slice(at + group.length)
      }
    }),
  )
})
