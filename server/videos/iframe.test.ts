import assert from 'node:assert/strict'
import { test } from 'node:test'
import { iframeOf, playerSize } from './iframe.ts'

const src = 'https://video.example.com/vod/vi4blUQJFrYWbaG44NChkH27'
const allow = 'allow="autoplay; fullscreen; picture-in-picture; accelerometer; gyroscope"'

test('the iframe has the aspect ratio of the video', () => {
  const styleOf = (width: number | null, height: number | null, panoramic = false) => {
    const size = playerSize({ width, height, panoramic })
    return /style="([^"]*)"/.exec(iframeOf({ src, title: 'Film', size }))?.[1]
  }
  assert.equal(styleOf(1920, 1080), 'aspect-ratio: 16 / 9; border: 0')
  assert.equal(styleOf(1080, 1920), 'aspect-ratio: 9 / 16; border: 0')
  assert.equal(styleOf(854, 480), 'aspect-ratio: 427 / 240; border: 0')
  assert.equal(styleOf(null, null), 'aspect-ratio: 16 / 9; border: 0')
  assert.equal(styleOf(3840, 1920, true), 'aspect-ratio: 16 / 9; border: 0')
})

test('the iframe names the video and has no obsolete attributes', () => {
  const size = { width: 640, height: 360 }
  assert.equal(
    iframeOf({ src, title: '"><script>', size }),
    `<iframe src="${src}" title="&quot;&gt;&lt;script&gt;" width="100%" style="aspect-ratio: 16 / 9; border: 0" ${allow}></iframe>`,
  )
  assert.equal(
    iframeOf({ src: `${src}?muted=1&t=2`, title: '', size, isFixed: true }),
    `<iframe src="${src}?muted=1&amp;t=2" title="Video" width="640" height="360" style="border: 0" ${allow}></iframe>`,
  )
})
