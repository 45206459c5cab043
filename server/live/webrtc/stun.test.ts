import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasIntegrity, isStun, readBindingRequest, writeBindingResponse } from './stun.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')

/** RFC 5769, 2.1. */
const sample = hex(`
  00010058 2112a442 b7e7a701 bc34d686 fa87dfae
  80220010 5354554e 20746573 7420636c 69656e74
  00240004 6e0001ff
  80290008 932ff9b1 51263b36
  00060009 6576746a 3a683676 59202020
  00080014 9aeaa70c bfd8cb56 781ef2b5 b2d3f249 c1b571a2
  80280004 e57a3bcf`)
const password = 'VOkJxbRl1RmTxUk/WvJxBt'

test('a check of ICE is authentic with the password only', () => {
  assert.ok(isStun(sample))
  const request = readBindingRequest(sample)
  assert.ok(request)
  assert.equal(request.username, 'evtj:h6vY')
  assert.equal(request.useCandidate, false)
  assert.ok(hasIntegrity(request, password))
  assert.ok(!hasIntegrity(request, 'another'))
  for (let at = 0; at < 80; at++) {
    const changed = Buffer.from(sample)
    changed[at]! ^= 1
    const read = isStun(changed) ? readBindingRequest(changed) : undefined
    assert.ok(!read || !hasIntegrity(read, password), `byte ${at}`)
  }
})

test('anything else is ignored', () => {
  for (let length = 0; length < sample.length; length++) {
    const part = sample.subarray(0, length)
    assert.ok(!isStun(part) || readBindingRequest(part) === undefined)
  }
})

test('the answer has the address of the request, and is no longer than it', () => {
  const transaction = hex('b7e7a701 bc34d686 fa87dfae')
  const addressIn = (address: string) => {
    const response = writeBindingResponse(transaction, { address, port: 32_853 }, password)
    assert.ok(response.length <= sample.length)
    return response.toString('hex', 20)
  }
  // RFC 5769, 2.2 and 2.3.
  assert.match(addressIn('192.0.2.1'), /^002000080001a147e112a643/)
  assert.match(addressIn('::ffff:192.0.2.1'), /^002000080001a147e112a643/)
  assert.match(
    addressIn('2001:db8:1234:5678:11:2233:4455:6677'),
    /^002000140002a1470113a9faa5d3f179bc25f4b5bed2b9d9/,
  )
})
