import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Claim, listClaims, makeClaim, noEnd, removeClaim } from './disk-claims.ts'
import { FileNotFoundError } from './files.ts'

const MiB = 1024 * 1024
const region = 256 * MiB

async function claimsFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'claims-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

test('concurrent claims do not overlap, even across regions', async (t) => {
  const folder = await claimsFolder(t)
  const wanted = Array.from({ length: 60 }, (_, i) => {
    const from = (i * 97 * MiB) % (4 * region)
    return { from, to: from + ((i * 53) % 300) * MiB + 1 }
  })
  const held = await Promise.all(
    wanted.map(async ({ from, to }) => {
      const claim = new Claim(folder, from)
      const end = await claim.extendTo(to)
      if (end === from) await claim.release()
      return { from, to: end }
    }),
  )
  const granted = held.filter(({ from, to }) => to > from).toSorted((a, b) => a.from - b.from)
  assert.ok(granted.length > 0)
  for (const [i, { from }] of granted.entries()) {
    const before = granted[i - 1]
    if (before) assert.ok(before.to <= from, JSON.stringify([before, granted[i]]))
  }
})

test('a claim ends before an existing claim that begins in a later region', async (t) => {
  const folder = await claimsFolder(t)
  await makeClaim(folder, { from: 2 * region + 5, to: 2 * region + 9, id: 'a' })
  const claim = new Claim(folder, region - 1)
  assert.equal(await claim.extendTo(3 * region), 2 * region + 5)
  const inside = new Claim(folder, 2 * region)
  assert.equal(await inside.extendTo(2 * region + 1), 2 * region)
  await inside.release()
  // A claim without an end checks every region.
  assert.equal(await new Claim(folder, 2 * region + 9).extendTo(noEnd), noEnd)
})

test('a claim that grows, shrinks and is released leaves no file behind', async (t) => {
  const folder = await claimsFolder(t)
  const claim = new Claim(folder, 10)
  for (const to of [20, 2 * region, 5 * region, region, noEnd, 30]) {
    assert.equal(await claim.extendTo(to), to)
    const listed = await listClaims(folder)
    assert.equal(Math.min(...listed.map(({ from }) => from)), 10)
    assert.equal(Math.max(...listed.map((each) => each.to)), to)
  }
  await claim.release()
  assert.deepEqual(await listClaims(folder), [])
})

test('only the claims near a range are read', async (t) => {
  const folder = await claimsFolder(t)
  for (let i = 0; i < 8; i++) await makeClaim(folder, { from: i * region, to: i * region + 1, id: `i${i}` })
  const near = await listClaims(folder, 3 * region + 5, 4 * region + 1)
  assert.deepEqual(near.map(({ id }) => id).sort(), ['i3', 'i4'])
  assert.equal((await listClaims(folder)).length, 8)
})

test('claims of earlier versions, which are all in one folder, count too', async (t) => {
  const folder = await claimsFolder(t)
  const old = { from: region + 100, to: region + 200, id: 'old' }
  await writeFile(join(folder, `${old.from}-${old.to}-${old.id}`), '')
  const claim = new Claim(folder, 0)
  assert.equal(await claim.extendTo(2 * region), region + 100)
  await claim.release()
  await removeClaim(folder, old)
  assert.deepEqual(await listClaims(folder), [])
})

test('a claim on a removed upload is rejected and creates no file', async (t) => {
  const folder = await claimsFolder(t)
  await rm(folder, { recursive: true })
  for (const to of [5, 3 * region, noEnd])
    await assert.rejects(new Claim(folder, 0).extendTo(to), FileNotFoundError)
  await assert.rejects(readdir(folder))
})
