import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { UrlNotAllowedError } from './errors.ts'
import { blockedIpv4, blockedIpv6, blockedPorts, globalIpv6 } from './ip-ranges.ts'
import { isPublicAddress, parseTarget } from './target.ts'

const strict = { allowPrivateNetworks: false }
const rejects = (url: string, message?: RegExp) =>
  assert.throws(
    () => parseTarget(url, strict),
    (error) => error instanceof UrlNotAllowedError && (!message || message.test(error.message)),
    url,
  )

const privateOnes = `
  0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.255.255.254
  168.63.129.16 169.254.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1
  192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1
  239.255.255.255 240.0.0.1 255.255.255.255
  :: ::1 ::2 ::7f00:1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.1.2.3 ::ffff:7f00:1 ::ffff:a9fe:a9fe
  ::ffff:0:7f00:1 0:0:0:0:0:ffff:c0a8:1 64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b::a00:1 64:ff9b:1::1
  64:ff9b:1::808:808 100::1 2001::1 2001:0:7f00:1:: 2001:0:808:808:: 2001:2::1 2001:10::1 2001:20::1
  2001:db8::1 2002:7f00:1:: 2002:a00:1::1 2002:c0a8:101::1 2002:808:808::1 3fff::1 4000::1 5f00::1 fc00::1
  fd00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fe80::1%eth0 febf::1 fec0::1 ff02::1 ff0e::1
  2606:4700::1111%eth0 8000::1`
const publicOnes = `
  1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15
  169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255
  198.20.0.0 223.255.255.255
  2001:200::1 2001:4860:4860::8888 2606:4700:4700::1111 2a00:1450::1 2003::1 3ffe::1
  ::ffff:8.8.8.8 ::ffff:808:808 64:ff9b::8.8.8.8 64:ff9b::808:808`
const nonsense = [
  '',
  ' ',
  'localhost',
  '127.1',
  '0x7f000001',
  '1.2.3.4 ',
  '1.2.3.4/8',
  '[::1]',
  '::g',
  '1.2.3',
  '08.8.8.8',
]
const words = (text: string) => text.trim().split(/\s+/)

for (const address of words(privateOnes)) {
  test(`${address} is not public`, () => assert.equal(isPublicAddress(address), false))
}
for (const address of words(publicOnes)) {
  test(`${address} is public`, () => assert.equal(isPublicAddress(address), true))
}
test('text that is not an IP address is not public', () => {
  for (const each of nonsense) assert.equal(isPublicAddress(each), false, each)
})

// Checks the same table with arithmetic instead of net.BlockList.
const ipv4ToNumber = (text: string) => text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n)
const toIpv4 = (value: bigint) => [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.')
const toIpv6 = (value: bigint) =>
  [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n].map((shift) => ((value >> shift) & 0xffffn).toString(16)).join(':')
const ipv6ToNumber = (text: string) => {
  const [head = [], tail = []] = text.split('::').map((half) => half.split(':').filter(Boolean))
  const groups = [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail]
  return groups.reduce((sum, group) => (sum << 16n) + BigInt(`0x${group}`), 0n)
}
const contains = (first: bigint, bits: number, width: number, value: bigint) =>
  value >> BigInt(width - bits) === first >> BigInt(width - bits)
const isPublicIpv4 = (value: bigint) =>
  !blockedIpv4.some(([network, bits]) => contains(ipv4ToNumber(network), bits, 32, value))
const isPublicGlobalIpv6 = (value: bigint) =>
  contains(ipv6ToNumber(globalIpv6[0]), globalIpv6[1], 128, value) &&
  !blockedIpv6.some(([network, bits]) => contains(ipv6ToNumber(network), bits, 128, value))
const nat64 = ipv6ToNumber('64:ff9b::')
const mapped = ipv6ToNumber('::ffff:0:0')

test('each range begins and ends where the table says, in IPv4, mapped and NAT64', () => {
  for (const [network, bits] of blockedIpv4) {
    const first = ipv4ToNumber(network)
    const last = first + (1n << BigInt(32 - bits)) - 1n
    for (const value of [first - 1n, first, last, last + 1n].filter(
      (each) => each >= 0n && each < 1n << 32n,
    )) {
      assert.equal(isPublicAddress(toIpv4(value)), isPublicIpv4(value), toIpv4(value))
      assert.equal(isPublicAddress(toIpv6(nat64 + value)), isPublicIpv4(value), toIpv6(nat64 + value))
      assert.equal(isPublicAddress(toIpv6(mapped + value)), isPublicIpv4(value), toIpv6(mapped + value))
    }
  }
  for (const [network, bits] of [globalIpv6, ...blockedIpv6]) {
    const first = ipv6ToNumber(network)
    const last = first + (1n << BigInt(128 - bits)) - 1n
    for (const value of [first - 1n, first, last, last + 1n]) {
      assert.equal(isPublicAddress(toIpv6(value)), isPublicGlobalIpv6(value), toIpv6(value))
    }
  }
})

test('the result for any address equals the arithmetic definition', () => {
  const ipv4 = fc.bigInt({ min: 0n, max: (1n << 32n) - 1n })
  fc.assert(
    fc.property(ipv4, (value) => {
      for (const text of [toIpv4(value), toIpv6(mapped + value), toIpv6(nat64 + value)]) {
        assert.equal(isPublicAddress(text), isPublicIpv4(value), text)
      }
    }),
    { numRuns: 2000 },
  )
  const ipv6 = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n })
  const global = ipv6.map((value) => (value >> 3n) | (1n << 125n))
  fc.assert(
    fc.property(fc.oneof(ipv6, global), (value) => {
      if ([nat64, mapped].some((prefix) => contains(prefix, 96, 128, value))) return
      assert.equal(isPublicAddress(toIpv6(value)), isPublicGlobalIpv6(value), toIpv6(value))
    }),
    { numRuns: 2000 },
  )
})

test('a private address is rejected in every notation', () => {
  const hosts = `
    127.0.0.1 127.0.0.1. 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0x7f.0.0.1 0X7F.0.0.1 0177.0.0.1 0177.1
    017700000001 127.0.0.0x1 0 0x0 00 0.0.0.0 169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376
    169.254.43518 10.1 192.168.257 １２７.０.０.１ 127。0。0。1 ⑫⑦.⓪.⓪.① %31%32%37.0.0.1 127%2e0%2e0%2e1
    [::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:FFFF:7F00:0001] [::127.0.0.1]
    [64:ff9b::7f00:1] [64:ff9b::127.0.0.1] [2002:7f00:1::] [2001:0:7f00:1::] [fd00::1] [FE80::1] [ff02::1]`
  for (const host of words(hosts)) {
    rejects(`http://${host}/`, /private or reserved network/)
    rejects(`https://${host}:8443/a?b#c`, /private or reserved network/)
  }
  for (const url of [
    'http:127.0.0.1',
    'http:\\\\127.0.0.1\\',
    'http:///127.0.0.1',
    ' http://127.0.0.1',
    'ht\ntp://127.0.\t0.1',
  ]) {
    rejects(url, /private or reserved network/)
  }
})

test('zone ids and other invalid URLs are rejected', () => {
  for (const url of [
    'http://[fe80::1%25eth0]/',
    'http://[fe80::1%eth0]/',
    'http://',
    '',
    '/path',
    'http://256.1.1.1/',
    'http://1.2.3.4.5/',
    'http://a b/',
  ]) {
    rejects(url, /not a valid URL/)
  }
  rejects(`http://example.com/${'a'.repeat(9000)}`, /longer than 8192/)
})

test('only http and https are allowed', () => {
  for (const url of [
    'file:///etc/passwd',
    'ftp://example.com/a',
    'gopher://example.com/1',
    'data:,a',
    'ws://example.com',
    'javascript:1',
    'blob:http://example.com/1',
    'unix:/var/run/docker.sock',
    'HTTPX://example.com',
  ]) {
    rejects(url, /must begin with http:\/\/ or https:\/\//)
  }
})

test('a user name or a password is rejected', () => {
  for (const url of [
    'http://a@example.com/',
    'http://a:b@example.com/',
    'https://:b@example.com/',
    'http://example.com@127.0.0.1/',
  ]) {
    rejects(url, /user name or password/)
  }
})

test('ports of other protocols are rejected, even if private networks are allowed', () => {
  for (const port of [0, 22, 25, 110, 143, 3306, 5432, 6379, 11211, 27017]) {
    assert.ok(blockedPorts.has(port), String(port))
    rejects(`http://example.com:${port}/`, new RegExp(`^Port ${port} belongs`))
    assert.throws(
      () => parseTarget(`http://10.0.0.1:${port}/`, { allowPrivateNetworks: true }),
      UrlNotAllowedError,
    )
  }
  for (const port of [80, 443, 3000, 8000, 8080, 8443, 9000]) {
    assert.equal(blockedPorts.has(port), false, String(port))
    parseTarget(`http://example.com:${port}/`, strict)
  }
})

test('names and public addresses are accepted, and private addresses are accepted if they are allowed', () => {
  for (const url of [
    'http://example.com',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
    'http://bücher.example/',
  ]) {
    parseTarget(url, strict)
  }
  assert.equal(parseTarget('http://127.1:8080/', { allowPrivateNetworks: true }).host, '127.0.0.1:8080')
})
