import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Language, tokenize } from './highlight.ts'

const colored = (code: string, language: Language) =>
  tokenize(code, language).flatMap(({ text, kind }) => (kind ? [`${kind} ${text}`] : []))

test('colors do not change the code', () => {
  const code = `curl -u "$KEY:" '{"a": -1.5e3, "b\\"": [true, null]}' # it's "open\n<p class="x">a < b</p> // \`$X\``
  for (const language of ['json', 'http', 'html', 'js', 'sh', 'python', 'php', undefined] as const)
    assert.equal(
      tokenize(code, language)
        .map(({ text }) => text)
        .join(''),
      code,
      language,
    )
  assert.deepEqual(tokenize('', 'json'), [])
})

test('names, strings, numbers and words of JSON are told apart', () => {
  assert.deepEqual(colored('{"name": "a: \\"b\\"", "count": -12, "is": true}', 'json'), [
    'name "name"',
    'string "a: \\"b\\""',
    'name "count"',
    'number -12',
    'name "is"',
    'keyword true',
  ])
})

test('headers, tags and commands are colored', () => {
  assert.deepEqual(colored('content-type: text/html; x: 1', 'http'), ['name content-type'])
  assert.deepEqual(colored('<a href="x">1</a>', 'html'), [
    'keyword <a',
    'string "x"',
    'keyword >',
    'keyword </a',
    'keyword >',
  ])
  assert.deepEqual(colored('curl "$KEY" # all', 'sh'), ['keyword curl', 'string "$KEY"', 'comment # all'])
})
