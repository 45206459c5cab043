import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redirectTarget } from './http-server.ts'

const service = { domains: ['video.example.com', 'www.example.com'], publicUrl: 'https://video.example.com' }

test('a redirect leads to the same domain if it is ours, and to the first one otherwise', () => {
  const targetOf = (host: string | undefined, url = '/a?b=c') => redirectTarget(url, host, service)
  assert.equal(targetOf('www.example.com'), 'https://www.example.com/a?b=c')
  assert.equal(targetOf('WWW.Example.com.:80'), 'https://www.example.com/a?b=c')
  for (const host of [
    undefined,
    '',
    'evil.example',
    '10.0.0.1',
    'www.example.com@evil.example',
    'a b',
    '[::1]:80',
  ])
    assert.equal(targetOf(host), 'https://video.example.com/a?b=c', host)
})

test('no path leads to another host', () => {
  const targetOf = (url: string) => redirectTarget(url, 'video.example.com', service)
  assert.equal(targetOf('//evil.example/a'), 'https://video.example.com//evil.example/a')
  for (const url of ['http://evil.example/a', '@evil.example', '.evil.example', '*', ''])
    assert.equal(targetOf(url), 'https://video.example.com/', url)
  assert.equal(targetOf('/\u00e9\r\nx: y'), 'https://video.example.com/%C3%A9%0D%0Ax:%20y')
})

test('the port of the public URL is kept', () => {
  const mapped = { ...service, publicUrl: 'https://video.example.com:8443' }
  assert.equal(redirectTarget('/', 'www.example.com:8080', mapped), 'https://www.example.com:8443/')
})
