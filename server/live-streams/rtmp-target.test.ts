import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UrlNotAllowedError } from '../lib/fetch/errors.ts'
import { parseRtmpTarget } from './rtmp-target.ts'

const strict = { allowPrivateNetworks: false }
const parse = (text: string, options = strict) => {
  const { url, app, tcUrl } = parseRtmpTarget(text, options)
  return [url.hostname, url.port, app, tcUrl]
}
const rejects = (text: string, message: RegExp) =>
  assert.throws(
    () => parse(text),
    (error) => error instanceof UrlNotAllowedError && message.test(error.message),
    text,
  )

test('the path is the application, and the address of the connection is the URL', () => {
  const cases = {
    'rtmp://live.example.com/app': ['live.example.com', '', 'app', 'rtmp://live.example.com/app'],
    'rtmps://a.example:443/rtmp/': ['a.example', '443', 'rtmp', 'rtmps://a.example:443/rtmp'],
    'RTMP://A.example:80/x/y?k=v': ['a.example', '80', 'x/y?k=v', 'rtmp://a.example:80/x/y?k=v'],
    'rtmp://münchen.example:1935/s': [
      'xn--mnchen-3ya.example',
      '1935',
      's',
      'rtmp://xn--mnchen-3ya.example:1935/s',
    ],
    'rtmp://[2606:4700::1111]/s': ['[2606:4700::1111]', '', 's', 'rtmp://[2606:4700::1111]/s'],
  }
  for (const [text, expected] of Object.entries(cases)) assert.deepEqual(parse(text), expected)
})

test('private addresses in every notation are rejected unless they are allowed', () => {
  for (const host of [
    '127.0.0.1',
    '0x7f.1',
    '2130706433',
    '127.1',
    '[::1]',
    '[::ffff:10.0.0.1]',
    '１０.0.0.1',
  ])
    rejects(`rtmp://${host}/app`, /private or reserved network/)
  assert.equal(parse('rtmp://0x7f.1/app', { allowPrivateNetworks: true })[0], '127.0.0.1')
})

test('other protocols, credentials, ports of other services and URLs without host or path are rejected', () => {
  rejects('http://live.example.com/app', /not an rtmp or rtmps URL/)
  rejects('live.example.com/app', /not an rtmp or rtmps URL/)
  rejects('rtmpt://live.example.com/app', /not an rtmp or rtmps URL/)
  rejects('rtmp:live.example.com', /no valid host/)
  rejects('rtmp://', /no valid host/)
  rejects('rtmp:///app', /no valid host/)
  rejects('rtmp://a%20b/app', /no valid host/)
  rejects('rtmp://live.example.com', /no path/)
  rejects('rtmp://live.example.com//', /no path/)
  rejects('rtmp://user:secret@live.example.com/app', /user name or password/)
  rejects('rtmp://live.example.com:6379/app', /Port 6379/)
})

test('control characters are rejected, also if they are encoded', () => {
  for (const text of [
    'a\r\nb',
    'a\n',
    'a\tb',
    'a\u0000',
    'a\u007f',
    'a\u0085b',
    'a%0d%0Ab',
    'a%7F',
    'a?b=%00',
  ])
    rejects(`rtmp://live.example.com/${text}`, /control character/)
  rejects('\nrtmp://live.example.com/app', /control character/)
  assert.equal(parse('rtmp://live.example.com/a%20b')[2], 'a%20b')
})
