import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canFill, fillKey } from './fill.ts'

test('the key replaces the variable in every language', () => {
  const samples = [
    ['curl -u $KINORA_KEY: x', 'curl -u secret1: x'],
    ['curl -u "$KINORA_KEY:" x', 'curl -u "secret1:" x'],
    ['export KINORA_KEY=…', 'export KINORA_KEY=secret1'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the sample contains the template
    ['`Bearer ${process.env.KINORA_KEY}`', "`Bearer ${'secret1'}`"],
    [`f"Bearer {os.environ['KINORA_KEY']}"`, `f"Bearer {'secret1'}"`],
    ['os.environ["KINORA_KEY"]', '"secret1"'],
    ["'Bearer ' . getenv('KINORA_KEY')", "'Bearer ' . 'secret1'"],
    ['os.Getenv("KINORA_KEY")', '"secret1"'],
    ['System.getenv("KINORA_KEY")', '"secret1"'],
    ['nothing', 'nothing'],
  ]
  for (const [code, filled] of samples) assert.equal(fillKey(code!, 'secret1'), filled)
})

test('a Go program imports only what it still uses', () => {
  const program = (body: string) => `package main\n\nimport (\n\t"fmt"\n\t"os"\n)\n\n${body}`
  assert.doesNotMatch(fillKey(program('os.Getenv("KINORA_KEY")'), 'secret1'), /"os"/)
  assert.match(fillKey(program('os.Getenv("KINORA_KEY") os.Stdout'), 'secret1'), /"os"/)
})

test('only a key without special characters can be filled in', () => {
  for (const key of ['wJv0tK7XEwbjMNMb', 'my-test.key_1']) assert.ok(canFill(key), key)
  for (const key of ['short', 'a b c d e f', '$(reboot)1', `quote"quote`, '`whoami`1', 'a\nb\nc\nd\ne'])
    assert.ok(!canFill(key), key)
})
