import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultOptions, embedCode, playerUrl } from './embed-code.ts'

const player = 'https://video.example.com/vod/vi1'
const iframe = `<iframe src="${player}" title="&quot;&gt;&lt;b&gt; src=&quot;x&quot;" width="100%" style="aspect-ratio: 16 / 9; border: 0" allow="autoplay"></iframe>`

test('without options the code is that of the API', () => {
  assert.equal(embedCode({ iframe, player }, defaultOptions), iframe)
})

test('options are part of the URL', () => {
  const options = { ...defaultOptions, autoplay: true, muted: true, start: ' 1:30 ', end: '95.5' }
  assert.equal(playerUrl(player, options), `${player}?autoplay=true&muted=true&t=1:30,95.5`)
  assert.equal(
    playerUrl(`${player}?token=x`, options),
    `${player}?token=x&autoplay=true&muted=true&t=1:30,95.5`,
  )
  assert.equal(playerUrl(player, { ...defaultOptions, end: '10' }), `${player}?t=,10`)
  assert.match(
    embedCode({ iframe, player }, options),
    /src="[^"]+\?autoplay=true&amp;muted=true&amp;t=1:30,95\.5" title="&quot;/,
  )
})

test('a time that is not one is left out, whatever it contains', () => {
  for (const start of ['x', '"><script>', '1:2:3:4', '-1', '1;2'])
    assert.equal(playerUrl(player, { ...defaultOptions, start }), player)
})

test('a fixed width has the height of the video', () => {
  const code = embedCode({ iframe, player }, { ...defaultOptions, width: ' 640' })
  assert.match(code, / width="640" height="360" style="border: 0" allow=/)
})

test('a width that is not one is left out, whatever it contains', () => {
  for (const width of ['', ' ', '0', '99', '8001', '-200', '1e3', '640.5', '"><script>'])
    assert.equal(embedCode({ iframe, player }, { ...defaultOptions, width }), iframe, width)
})
