import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prefersHtml } from './accept.ts'

test('browsers that open a page prefer HTML', () => {
  for (const accept of [
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
    'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'text/html, application/xhtml+xml, */*',
    'text/html',
    'TEXT/HTML;Q=0.1',
    'text/html;charset=utf-8, application/json;q=0.9',
    'text/*, application/json;q=0.5',
    'text/html;q=0.5, application/json;q=0',
  ])
    assert.equal(prefersHtml(accept), true, accept)
})

test('API clients, media players and images get JSON', () => {
  for (const accept of [
    undefined,
    '',
    '*/*',
    'application/json',
    'application/json, text/plain, */*',
    'application/problem+json',
    'application/json, text/html',
    'text/html, application/json, */*',
    'text/html;q=-1, */*;q=0',
    'application/problem+json, text/html;q=0.9, application/json;q=0.1',
    'application/vnd.api.video+json;version=1',
    'text/html;q=0, */*',
    'text/html;q=0',
    'text/html;q=x',
    'text/css,*/*;q=0.1',
    'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8',
    'video/webm,video/ogg,video/*;q=0.9,application/ogg;q=0.7,audio/*;q=0.6,*/*;q=0.5',
    'text/*, application/*',
    ';;;,,,q=1',
  ])
    assert.equal(prefersHtml(accept), false, accept)
})
