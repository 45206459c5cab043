import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiProblem } from './problem.ts'

test('a problem that is about no field is not taken for one of a field', () => {
  const title = 'The body is not a JSON object.'
  assert.deepEqual(new ApiProblem(400, { title, name: '', problems: [{ title, name: '' }] }).fields, {})
  assert.deepEqual(new ApiProblem(400, { title, name: 'title' }).fields, { title })
})
