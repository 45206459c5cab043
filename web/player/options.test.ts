import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readOptions } from './options.ts'

const read = (rest: string) => readOptions(new URL(`http://localhost/vod/vi1${rest}`))

test('options of the SDK are read: unencoded values, empty parts, the word false', () => {
  const options = read('?id=vi1&&autoplay=true&muted=false&metadata[user]=a+b 100%&metadata[x]=é&ts=1')
  assert.equal(options.autoplay, true)
  assert.equal(options.muted, false)
  assert.deepEqual(options.metadata, { user: 'a+b 100%', x: 'é' })
})

test('an encoded name and value of metadata are decoded', () => {
  assert.deepEqual(read('?metadata%5Buser%5D=a%20%26%20b').metadata, { user: 'a & b' })
})

test('the fragment has its own option names', () => {
  const options = read(
    `#hotkeys:false;analytics:false;min-quality:360;max-quality:720;hide-title;loop;api;sdkOrigin:${btoa('https://a.example')};sdkPlayerId:3;adTagUrl:https%3A%2F%2Fx`,
  )
  assert.equal(options.hotkeys, false)
  assert.equal(options.analytics, false)
  assert.equal(read('#loop').analytics, true)
  assert.equal(options.minQuality, 360)
  assert.equal(options.maxQuality, 720)
  assert.equal(options.hideTitle, true)
  assert.equal(options.loop, true)
  assert.equal(options.api, true)
  assert.equal(options.sdkOrigin, 'https://a.example')
  assert.equal(options.sdkPlayerId, '3')
  assert.equal(options.hideControls, false)
})

test('times are seconds, mm:ss or hh:mm:ss, with or without an end', () => {
  const range = (text: string) => {
    const { startSeconds, endSeconds } = read(`#${text}`)
    return [startSeconds, endSeconds]
  }
  assert.deepEqual(range('t=10'), [10, undefined])
  assert.deepEqual(range('t=1:05,1:00:00.5'), [65, 3600.5])
  assert.deepEqual(range('t=,20'), [undefined, 20])
  assert.deepEqual(range('t=20,10'), [20, undefined])
  assert.deepEqual(range('t=soon'), [undefined, undefined])
})

test('invalid options are ignored', () => {
  const options = read('?metadata[]=x&metadata=y&%E0%A4%A=1#sdkOrigin:%%%;min-quality:lots;;:;=')
  assert.deepEqual(options.metadata, {})
  assert.equal(options.sdkOrigin, undefined)
  assert.equal(options.minQuality, undefined)
  assert.equal(options.autoplay, false)
})
