import assert from 'node:assert/strict'
import { chmod, mkdtemp, readdir, rename, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { newOwnedName } from './owner.ts'
import { announceService, findRunningService, localUrl } from './running-services.ts'

const newFolder = () => mkdtemp(join(tmpdir(), 'kinora-'))
const urls = (port: number) => ({
  url: `http://127.0.0.1:${port}`,
  publicUrl: `https://video${port}.example.com`,
})
const none = { url: undefined, publicUrl: undefined, ignored: undefined }

test('a service is found while it runs, and the newest of several', async () => {
  const data = await newFolder()
  assert.deepEqual(await findRunningService(data), none)
  const stopFirst = await announceService(data, urls(1))
  const [first] = await readdir(join(data, 'services'))
  await utimes(join(data, 'services', first!), 1, 1)
  const stopSecond = await announceService(data, urls(2))
  assert.deepEqual(await findRunningService(data), { ...none, ...urls(2) })
  await stopSecond()
  assert.equal((await findRunningService(data)).url, 'http://127.0.0.1:1')
  await stopFirst()
  assert.deepEqual(await findRunningService(data), none)
})

test('the file of a killed process is ignored, and the next start removes it', async () => {
  const data = await newFolder()
  await announceService(data, urls(1))
  const [name] = await readdir(join(data, 'services'))
  // The same pid, but another start time: the pid has been reused.
  const dead = name!.replace(/-(\d+)\./, '-1.')
  await rename(join(data, 'services', name!), join(data, 'services', dead))
  assert.deepEqual(await findRunningService(data), none)
  await announceService(data, urls(2))
  const left = await readdir(join(data, 'services'))
  assert.equal(left.length, 1)
  assert.notEqual(left[0], dead)
})

test('a file or folder that another user could have written is ignored', async () => {
  const data = await newFolder()
  await announceService(data, urls(1))
  const folder = join(data, 'services')
  const [name] = await readdir(folder)
  await chmod(join(folder, name!), 0o666)
  assert.deepEqual(await findRunningService(data), none)
  await chmod(join(folder, name!), 0o640)
  assert.equal((await findRunningService(data)).url, 'http://127.0.0.1:1')
  await chmod(folder, 0o777)
  const { url, ignored } = await findRunningService(data)
  assert.equal(url, undefined)
  assert.match(ignored ?? '', /another user/)
})

test('links, damaged files and other schemes are ignored', async () => {
  const data = await newFolder()
  const stop = await announceService(data, urls(1))
  await stop()
  const folder = join(data, 'services')
  await writeFile(join(data, 'target'), '{"url":"http://127.0.0.1:2"}')
  await symlink(join(data, 'target'), join(folder, newOwnedName()))
  for (const text of ['', '{', 'null', '{"url":7}', '{"url":"ftp://x"}', '{"url":"x"}', ' '.repeat(5000)])
    await writeFile(join(folder, newOwnedName()), text)
  await writeFile(join(folder, 'notes.txt'), '{"url":"http://127.0.0.1:3"}')
  assert.deepEqual(await findRunningService(data), none)
})

test('the local URL is an address that this machine can reach', () => {
  const address = (address: string, family: string) => ({ address, family, port: 9 })
  const open = { host: '0.0.0.0', publicUrl: 'https://video.example.com' }
  assert.equal(localUrl(address('127.0.0.1', 'IPv4'), { host: '127.0.0.1' }), 'http://127.0.0.1:9')
  assert.equal(localUrl(address('0.0.0.0', 'IPv4'), open), 'http://127.0.0.1:9')
  assert.equal(localUrl(address('::', 'IPv6'), { host: '::' }), 'http://[::1]:9')
  assert.equal(localUrl(address('10.0.0.4', 'IPv4'), { host: '10.0.0.4' }), 'http://10.0.0.4:9')
  assert.equal(localUrl(address('::1', 'IPv6'), { host: 'localhost' }), 'http://localhost:9')
  assert.equal(localUrl(address('0.0.0.0', 'IPv4'), { ...open, tls: {} }), 'https://video.example.com')
  assert.equal(localUrl(address('127.0.0.1', 'IPv4'), { host: '127.0.0.1', tls: {} }), 'https://localhost:9')
})
