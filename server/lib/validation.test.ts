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

function problemsOf(body: unknown): string[] {
  const result = check(body)
  assert.ok('error' in result && result.error instanceof ApiError)
  return (result.error.extra.problems ?? []).map(({ name }) => name)
}

const listOf = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i))
const invalidMap = (count: number) => Object.fromEntries(listOf(count, (i) => [`k${i}`, i]))

test('all problems of ordinary input are named', () => {
  const metadata = [{ a: 1 }, { b: 'fine' }, { c: null }]
  assert.deepEqual(problemsOf({ session: { metadata, id: 5 } }).sort(), [
    'session[id]',
    'session[metadata][0][a]',
    'session[metadata][2][c]',
  ])
})

test('at most 100 problems are named', () => {
  assert.equal(problemsOf({ session: { metadata: listOf(300, () => ({ a: 1 })) } }).length, 100)
})

test('only the first problem of large input is named', () => {
  for (const [label, body] of Object.entries({
    list: { session: { metadata: listOf(5_000, (i) => i) } },
    map: { session: { metadata: [invalidMap(5_000)] } },
    'list of small maps': { session: { metadata: listOf(600, () => ({ a: 1, b: 2 })) } },
    'maps in maps': { session: {}, extra: { a: invalidMap(600), b: invalidMap(600) } },
    text: { session: { metadata: [{ a: 'x'.repeat(70_000), b: 1, c: 2 }] } },
    'long keys': { session: { metadata: [{ ['x'.repeat(40_000)]: 1, ['y'.repeat(40_000)]: 1 }] } },
  }))
    assert.equal(problemsOf(body).length, 1, label)
})

test('input that is nested deeper than the stack is rejected like other input', () => {
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
  assert.deepEqual(problemsOf({ session: { metadata: 5 }, deep }), ['session[metadata]'])
})
