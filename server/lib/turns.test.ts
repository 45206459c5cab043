import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Turns } from './turns.ts'

/** Works until the turn is over, as often as told. */
async function work(turns: Turns, name: string, times: number, log: string[]): Promise<void> {
  for (let i = 0; i < times; i++) {
    while (!turns.isOver());
    log.push(name)
    await turns.next()
  }
}

test('other work is done between the turns, and whoever waits gets a turn of its own', async () => {
  const turns = new Turns()
  const log: string[] = []
  const all = Promise.all([work(turns, 'a', 4, log), work(turns, 'b', 4, log)])
  let others = 0
  let isDone = false
  void all.then(() => {
    isDone = true
  })
  while (!isDone) {
    await turn()
    others++
  }
  assert.deepEqual(log, ['a', 'b', 'a', 'b', 'a', 'b', 'a', 'b'])
  assert.ok(others >= 8, `${others}`)
})

test('a turn begins anew after it is over', async () => {
  const turns = new Turns()
  while (!turns.isOver());
  await turn()
  await turns.next()
  // A process that stands still may end a turn before it begins, but not every time.
  while (turns.isOver()) await turns.next()
})
