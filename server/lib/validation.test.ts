import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { ApiError } from './errors.ts'
import { compileValidator } from './validation.ts'

const check = compileValidator({
  schema: Type.Object({
    session: Type.Object({
      metadata: Type.Array(Type.Record(Type.String(), Type.String())),
      id: Type.Optional(Type.String()),
    }),
    extra: Type.Optional(Type.Record(Type.String(), Type.Record(Type.String(), Type.String()))),
  }),
  httpPart: 'body',
})

function faultsOf(body: unknown): string[] {
  const result = check(body)
  assert.ok('error' in result && result.error instanceof ApiError)
  return (result.error.extra.problems ?? []).map(({ name }) => name)
}

const many = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i))
const wrongMap = (count: number) => Object.fromEntries(many(count, (i) => [`k${i}`, i]))

test('all faults of ordinary input are named', () => {
  const metadata = [{ a: 1 }, { b: 'fine' }, { c: null }]
  assert.deepEqual(faultsOf({ session: { metadata, id: 5 } }).sort(), [
    'session[id]',
    'session[metadata][0][a]',
    'session[metadata][2][c]',
  ])
})

test('no more than 100 faults are named', () => {
  assert.equal(faultsOf({ session: { metadata: many(300, () => ({ a: 1 })) } }).length, 100)
})

test('of large input only the first fault is named, wherever the input is large', () => {
  for (const [what, body] of Object.entries({
    list: { session: { metadata: many(5_000, (i) => i) } },
    map: { session: { metadata: [wrongMap(5_000)] } },
    'list of small maps': { session: { metadata: many(600, () => ({ a: 1, b: 2 })) } },
    'maps in maps': { session: {}, extra: { a: wrongMap(600), b: wrongMap(600) } },
    text: { session: { metadata: [{ a: 'x'.repeat(70_000), b: 1, c: 2 }] } },
    'long keys': { session: { metadata: [{ ['x'.repeat(40_000)]: 1, ['y'.repeat(40_000)]: 1 }] } },
  }))
    assert.equal(faultsOf(body).length, 1, what)
})

test('input that is nested deeper than the stack is refused like any other', () => {
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
  assert.deepEqual(faultsOf({ session: { metadata: 5 }, deep }), ['session[metadata]'])
})
