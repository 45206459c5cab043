import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CommandError } from './errors.ts'
import { withSentences } from './with-database.ts'

test('faults of the system end a command with a sentence, and bugs with their stack', async () => {
  const lost = Object.assign(new Error('terminating connection due to administrator command'), {
    code: '57P01',
  })
  const reject = (error: unknown) => () => Promise.reject(error)
  await assert.rejects(
    withSentences(reject(lost)),
    new CommandError('The database cannot be reached: terminating connection due to administrator command.', {
      cause: lost,
    }),
  )
  const refused = Object.assign(new Error('EACCES: permission denied, mkdir /data'), {
    code: 'EACCES',
    path: '/data',
  })
  await assert.rejects(withSentences(reject(refused)), CommandError)
  const bug = new TypeError('undefined is not a function')
  await assert.rejects(withSentences(reject(bug)), bug)
})
