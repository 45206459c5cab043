import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { certificateId, chooseRenewal, earliestRenewal, planRenewal } from './renewal-info.ts'

const at = (text: string) => new Date(`2026-${text}T00:00:00Z`)
const validity = { notBefore: at('01-01'), notAfter: at('04-01') }

test('a certificate is renewed at two thirds of its lifetime', () => {
  assert.deepEqual(planRenewal(validity, at('01-01')), at('03-02'))
})

test('a clock that is years ahead does not order one certificate after the other', () => {
  const now = new Date('2030-01-01T00:00:00Z')
  assert.deepEqual(planRenewal(validity, now), new Date('2030-01-31T00:00:00Z'))
  assert.deepEqual(earliestRenewal(validity, now), new Date('2030-01-02T00:00:00Z'))
})

test('a renewal time in the window is kept, and another one is chosen from the window', () => {
  const window = { start: at('02-01'), end: at('02-03') }
  assert.deepEqual(chooseRenewal(at('02-02'), window, 0), at('02-02'))
  assert.deepEqual(chooseRenewal(at('03-02'), window, 0.5), at('02-02'))
  assert.deepEqual(chooseRenewal(at('01-02'), window, 0), at('02-01'))
})

test('the id of a certificate is the key id of its issuer and its serial number', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'kinora-certificate-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
  const idOf = (serial: string) => {
    const kind = [
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-subj',
      '/CN=a.example',
    ]
    const output = ['-keyout', key, '-out', cert, '-set_serial', serial]
    execFileSync('openssl', ['req', '-x509', ...kind, ...output], { stdio: 'pipe' })
    return certificateId(readFileSync(cert, 'utf8'))
  }
  // A zero byte keeps the number positive.
  assert.match(idOf('0x87654321')!, /^[\w-]{27}\.AIdlQyE$/)
  assert.match(idOf('0x7654321')!, /^[\w-]{27}\.B2VDIQ$/)
  const id = idOf('0x1')!
  const print = ['x509', '-in', cert, '-noout', '-ext', 'authorityKeyIdentifier']
  const text = execFileSync('openssl', print, { encoding: 'utf8' })
  const [hex = ''] = /(?:[\dA-F]{2}:){19}[\dA-F]{2}/.exec(text) ?? []
  assert.equal(id, `${Buffer.from(hex.replaceAll(':', ''), 'hex').toString('base64url')}.AQ`)
})
