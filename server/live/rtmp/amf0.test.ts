import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AmfError, type AmfValue, decodeAmf, encodeAmf } from './amf0.ts'

const { values } = fc.letrec<{ value: AmfValue; values: AmfValue[] }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.double(),
    fc.boolean(),
    fc.string(),
    fc.constant(null),
    fc.constant(undefined),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.string({ minLength: 1 }), tie('value'), { maxKeys: 3 }),
  ),
  values: fc.array(tie('value'), { maxLength: 4 }),
}))

test('values are decoded as they were encoded', () => {
  fc.assert(
    fc.property(values, (given) => {
      assert.deepEqual(JSON.stringify(decodeAmf(encodeAmf(...given))), JSON.stringify(given))
    }),
  )
})

test('damaged messages throw an AmfError and nothing else', () => {
  const damage = fc.tuple(values, fc.nat(), fc.nat({ max: 255 }), fc.nat())
  fc.assert(
    fc.property(damage, ([given, at, byte, end]) => {
      const bytes = encodeAmf(...given)
      if (bytes.length > 0) bytes[at % bytes.length] = byte
      try {
        decodeAmf(bytes.subarray(0, end % (bytes.length + 1)))
      } catch (error) {
        assert.ok(error instanceof AmfError, String(error))
      }
    }),
    { numRuns: 500 },
  )
})

test('deeply nested values, long arrays and many values are rejected', () => {
  let nested: AmfValue = 1
  for (let i = 0; i < 20; i++) nested = { a: nested }
  assert.throws(() => decodeAmf(encodeAmf(nested)), /nested too deeply/)
  assert.throws(() => decodeAmf(Buffer.from([10, 0xff, 0xff, 0xff, 0xff])), /too long/)
  assert.throws(() => decodeAmf(Buffer.alloc(100_000, 5)), /too many values/)
})

test('a property named __proto__ is a property', () => {
  const [object] = decodeAmf(encodeAmf(JSON.parse('{"__proto__": {"isAdmin": true}}')))
  assert.equal((object as { isAdmin?: boolean }).isAdmin, undefined)
})
