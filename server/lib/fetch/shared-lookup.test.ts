import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareLookups } from './shared-lookup.ts'

test('concurrent lookups of a name share one query, and later lookups start a new one', () => {
  const asked: { host: string; answer: () => void }[] = []
  const lookup = shareLookups((host, _options, callback) => {
    const address = `10.0.0.${asked.length}`
    asked.push({ host, answer: () => callback(null, [{ address, family: 4 }]) })
  })
  const heard: string[] = []
  const want = (host: string) =>
    lookup(host, { all: true }, (_error, [answer]) => heard.push(`${host} ${answer?.address}`))
  want('a')
  want('a')
  want('b')
  assert.deepEqual(
    asked.map(({ host }) => host),
    ['a', 'b'],
  )
  asked[0]!.answer()
  assert.deepEqual(heard, ['a 10.0.0.0', 'a 10.0.0.0'])
  want('a')
  asked[2]!.answer()
  asked[1]!.answer()
  assert.deepEqual(heard.slice(2), ['a 10.0.0.2', 'b 10.0.0.1'])
})
