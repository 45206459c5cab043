import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryFolder } from '../support/harness.ts'
import { localPlaces, PostgresPair } from '../support/postgres-pair.ts'

test('the pair of servers of these tests fails over and back without loss', async (t) => {
  const pair = new PostgresPair({
    folder: await temporaryFolder(t),
    places: await localPlaces(),
    isSynchronous: true,
  })
  t.after(() => pair.kill())
  await pair.start()
  await pair.primary.query('create table kept as select 1 as number', 'kinora')
  await pair.primary.kill()
  await pair.promote()
  await pair.primary.query('insert into kept values (2)', 'kinora')
  await pair.rebuild()
  await pair.primary.query('insert into kept values (3)', 'kinora')
  await pair.primary.kill()
  await pair.promote()
  const rows = await pair.primary.query('select number from kept order by number', 'kinora')
  assert.deepEqual(
    rows.map(({ number }) => number),
    [1, 2, 3],
  )
})
