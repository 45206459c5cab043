import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { QueryClient } from '@tanstack/react-query'
import { Changes } from './changes.ts'
import { sessionQuery } from './session.ts'

class FakeSource extends EventTarget {
  static readonly CLOSED = 2
  static opened: FakeSource[] = []
  readyState = 0
  constructor() {
    super()
    FakeSource.opened.push(this)
  }
  close() {
    this.readyState = FakeSource.CLOSED
  }
  /** As after a response that is not a stream. */
  fail() {
    this.readyState = FakeSource.CLOSED
    this.dispatchEvent(new Event('error'))
  }
}

const page = Object.assign(new EventTarget(), { hidden: false, visibilityState: 'visible' })
function show(isShown: boolean): void {
  Object.assign(page, { hidden: !isShown, visibilityState: isShown ? 'visible' : 'hidden' })
  page.dispatchEvent(new Event('visibilitychange'))
}

let client: QueryClient
let changes: Changes
beforeEach(() => {
  Object.assign(globalThis, { document: page, EventSource: FakeSource })
  FakeSource.opened = []
  mock.timers.enable({ apis: ['setTimeout'] })
  client = new QueryClient()
  changes = new Changes('production', client, () => {})
  changes.open()
})
afterEach(() => {
  changes.close()
  show(true)
  client.clear()
  mock.timers.reset()
})

test('a page whose stream has failed connects again, but not while it is hidden', () => {
  FakeSource.opened[0]!.fail()
  mock.timers.tick(5_000)
  assert.equal(FakeSource.opened.length, 2)
  show(false)
  FakeSource.opened[1]!.fail()
  mock.timers.tick(60_000)
  assert.equal(FakeSource.opened.length, 2)
  show(true)
  assert.equal(FakeSource.opened.length, 3)
})

test('a stream that opens loads the session again, which another tab may have replaced', () => {
  client.setQueryData(sessionQuery.queryKey, { csrfToken: 'old' } as never)
  assert.equal(client.getQueryState(sessionQuery.queryKey)!.isInvalidated, false)
  FakeSource.opened[0]!.dispatchEvent(new Event('open'))
  assert.equal(client.getQueryState(sessionQuery.queryKey)!.isInvalidated, true)
})

test('a page that is logged out does not connect', () => {
  client.setQueryData(sessionQuery.queryKey, null)
  FakeSource.opened[0]!.fail()
  mock.timers.tick(60_000)
  assert.equal(FakeSource.opened.length, 1)
})
