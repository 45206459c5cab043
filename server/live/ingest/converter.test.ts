import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { Converter } from './converter.ts'

test('an encoder cannot start one ffmpeg after the other', () => {
  let starts = 0
  const tools = {
    get ffmpeg() {
      starts++
      return 'false'
    },
  }
  const log = pino({ level: 'silent' })
  const converter = new Converter({ tools, log, codec: 'vp8', onTag() {}, onFailure() {} })
  for (let i = 0; i < 20; i++) {
    converter.write(i, true, Buffer.alloc(1))
    converter.finish()
  }
  assert.equal(starts, 5)
  converter.close()
})
