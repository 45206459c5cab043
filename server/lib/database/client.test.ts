import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseClient, type Servers } from './client.ts'

test('a connection that breaks while nobody listens does not end the process', () => {
  const client = new DatabaseClient({ servers: {} as Servers })
  const broken = new Error('terminating connection due to unexpected postmaster exit')
  assert.doesNotThrow(() => client.emit('error', broken))
})
