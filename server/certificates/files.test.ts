import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { connect, createServer } from 'node:tls'
import type { Config } from '../config.ts'
import type { Context } from '../context.ts'
import { createLog } from '../lib/log.ts'
import { openCertificateFiles } from './files.ts'
import { certificateStatus } from './status.ts'

function createFiles(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'kinora-certificate-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  const next = { cert: `${files.certFile}.next`, key: `${files.keyFile}.next` }
  const make = (name: string) => {
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
    const subject = ['-subj', `/O=Test of ${name}`, '-addext', `subjectAltName=DNS:${name}`]
    const output = ['-keyout', next.key, '-out', next.cert]
    execFileSync('openssl', ['req', '-x509', ...kind, ...subject, ...output], { stdio: 'pipe' })
  }
  const useCertificate = () => renameSync(next.cert, files.certFile)
  const useKey = () => renameSync(next.key, files.keyFile)
  return { files, make, useCertificate, useKey }
}

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  const end = Date.now() + 60_000
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`not within a minute: ${condition}`)
    await delay(5)
  }
}

test('servers use the certificate in the files, also after it was replaced', async (t) => {
  const { files, make, useCertificate, useKey } = createFiles(t)
  make('first.example')
  useCertificate()
  useKey()
  const warnings: string[] = []
  const log = createLog('silent', false)
  log.warn = (_details: unknown, message?: string) => void warnings.push(message ?? '')
  const { certificate, close } = await openCertificateFiles(files, log, 5)
  t.after(close)
  const server = createServer({ ...certificate }, (socket) => socket.end())
  certificate.follow(server)
  t.after(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const servedName = async () => {
    const client = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
    await once(client, 'secureConnect')
    const name = client.getPeerCertificate().subjectaltname
    client.destroy()
    return name
  }
  const statusOf = async () =>
    certificateStatus({
      config: { tls: files } as unknown as Config,
      db: undefined as unknown as Context['db'],
    })

  assert.equal(await servedName(), 'DNS:first.example')
  const { source, domains, issuer, notAfter, lastError } = await statusOf()
  assert.deepEqual(
    { source, domains, issuer, lastError },
    { source: 'file', domains: ['first.example'], issuer: 'Test of first.example', lastError: null },
  )
  assert.ok(notAfter && Math.abs(notAfter.getTime() - Date.now() - 86_400_000) < 3_600_000)

  make('second.example')
  useCertificate()
  await until(() => warnings.length > 0)
  assert.match(warnings[0]!, /not replaced: .* are not a valid PEM certificate and its private key: .+\.$/)
  assert.equal(await servedName(), 'DNS:first.example', 'the key of the second certificate is missing')
  assert.match((await statusOf()).lastError!, /are not a valid PEM certificate/)

  useKey()
  await until(async () => (await servedName()) === 'DNS:second.example')
  writeFileSync(files.certFile, 'nonsense')
  await until(() => warnings.length > 1)
  assert.equal(await servedName(), 'DNS:second.example')
})

test('without certificate files the status has no certificate', async () => {
  const context = { config: {} as Config, db: undefined as unknown as Context['db'] }
  assert.equal((await certificateStatus(context)).source, 'none')
})
