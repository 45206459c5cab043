import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requiredBy } from '../../server/migrations/migrate.ts'
import { root } from '../support/harness.ts'
import { listFixtures, readFixture, readSchemaOf } from '../support/upgrade-fixture.ts'

const current = readSchemaOf(root)

for (const version of listFixtures()) {
  const released = readFixture(version)

  test(`the migrations of version ${version} are not edited`, () => {
    const kept = Object.keys(released.migrations).map((name) => [name, current.migrations[name]])
    assert.deepEqual(Object.fromEntries(kept), released.migrations, 'add a migration instead')
  })

  test(`a change of the tables of pg-boss since version ${version} has a migration that earlier versions must know`, () => {
    const added = Object.keys(current.migrations).filter((name) => !(name in released.migrations))
    assert.ok(
      current.queueSchema === released.queueSchema || added.some((name) => requiredBy(name) === name),
      'add an empty migration that requires itself: it causes the backup before the upgrade, and earlier versions refuse the database',
    )
  })
}
