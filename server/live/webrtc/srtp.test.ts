import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SrtcpSender, SrtpReceiver } from './srtp.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')
const keys = { key: hex('E1F97A0D3E018BE0D64FA32C06DE4139'), salt: hex('0EC675AD498AFEEBB6960B3AABE6') }

test('a packet is decrypted, and a changed one is not', () => {
  // From libsrtp, whose tests use the keys of RFC 3711, B.3.
  const plain = hex('800f1234decafbadcafebabe abababababababababababababababab')
  const packet = hex('800f1234decafbadcafebabe 4e55dc4ce79978d88ca4d215949d2402 b78d6acc99ea179b8dbb')
  assert.deepEqual(new SrtpReceiver(keys).receive(packet), plain)
  for (const at of [1, 14, packet.length - 1]) {
    const changed = Buffer.from(packet)
    changed[at]! ^= 1
    assert.equal(new SrtpReceiver(keys).receive(changed), undefined)
  }
  for (let length = 0; length < packet.length; length++)
    assert.equal(new SrtpReceiver(keys).receive(packet.subarray(0, length)), undefined)
})

test('what is protected can be received', () => {
  const report = hex('80c900010000000100000000')
  const sender = new SrtcpSender(keys)
  const receiver = new SrtpReceiver(keys)
  for (let i = 0; i < 3; i++) assert.deepEqual(receiver.receive(sender.protect(report)), report)
})

test('a packet that is sent once more is not received again', () => {
  const packet = hex('800f1234decafbadcafebabe 4e55dc4ce79978d88ca4d215949d2402 b78d6acc99ea179b8dbb')
  const receiver = new SrtpReceiver(keys)
  assert.ok(receiver.receive(packet))
  assert.equal(receiver.receive(packet), undefined)
  const sender = new SrtcpSender(keys)
  const reports = [1, 2].map(() => sender.protect(hex('80c900010000000100000000')))
  for (const report of reports.toReversed()) assert.ok(receiver.receive(report))
  for (const report of reports) assert.equal(receiver.receive(report), undefined)
})
