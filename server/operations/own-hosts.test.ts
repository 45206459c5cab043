import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Config } from '../config.ts'
import { isOwnHost } from './own-hosts.ts'

const config = { allowedHosts: ['kinora', 'video.internal'] } as unknown as Config
const isOwn = (host: string | undefined, publicUrl = 'https://Video.Example.com:8443') =>
  isOwnHost(host, { config, publicUrl: () => new URL(publicUrl).origin })

test('IP addresses, localhost, the public URL and the names of the setting are our own hosts, with any port', () => {
  for (const host of [
    '127.0.0.1',
    '10.1.2.3:9000',
    '[::1]:8080',
    '[2001:DB8::1]',
    'localhost',
    'LOCALHOST:8080',
    'localhost.',
    'app.localhost:80',
    'video.example.com',
    'VIDEO.example.com.:443',
    'kinora:8080',
    'video.internal',
    undefined,
    '',
  ])
    assert.equal(isOwn(host), true, host)
  assert.equal(isOwn('xn--mnchen-3ya.example', 'https://münchen.example'), true)
})

test('every other name belongs to somebody else', () => {
  for (const host of [
    'attacker.example',
    'video.example.com.attacker.example',
    'x.video.example.com',
    'localhost.attacker.example',
    'notlocalhost',
    '127.0.0.1.attacker.example',
    'attacker.example@127.0.0.1',
    '127.0.0.1, attacker.example',
    'attacker.example:80:80',
    'attacker.example/127.0.0.1',
    '[::1',
    ' ',
    'kinora2',
  ])
    assert.equal(isOwn(host), false, host)
})
