import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isColor } from './colors.ts'

test('only CSS colors are accepted', () => {
  for (const color of [
    '#fff',
    '#FFFA',
    '#5883ff',
    '#5883ffF2',
    'rgba(88, 131, 255, .95)',
    'rgb(88,131,255)',
    ' rgba( 0 , 0 , 0 , 0.7 ) ',
    'rgb(88 131 255 / 95%)',
    'rgb(10% 20% 30%)',
    'hsl(120, 100%, 50%)',
    'hsla(1.5turn 100% 50%/.3)',
    'RebeccaPurple',
    'transparent',
  ])
    assert.ok(isColor(color), color)
  for (const text of [
    '',
    'blurple',
    '#ff',
    '#fffff',
    '#ggg',
    'rgb(1, 2)',
    'rgb(1, 2 3)',
    'rgba(1, 2, 3, 4, 5)',
    'rgb(1, 2, 3',
    'url(//example.com)',
    'red; background: url(//example.com)',
    'red}</style>',
    'var(--x)',
    'rgb(calc(1), 2, 3)',
    'constructor',
    `rgb(${' '.repeat(100_000)}`,
  ])
    assert.ok(!isColor(text), text.slice(0, 50))
})
