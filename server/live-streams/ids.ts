import { notFound } from '../lib/errors.ts'
import { idField } from '../lib/fields.ts'
import { isId, randomWord } from '../lib/ids.ts'
import { Type } from '../lib/schema.ts'

export const liveStreamPrefix = 'li'

export const liveStreamParams = Type.Object({
  liveStreamId: idField(liveStreamPrefix, 'Id of the live stream.'),
})

/** Strings that are not ids never reach the database. */
export function checkLiveStreamId(liveStreamId: string): string {
  if (!isId(liveStreamPrefix, liveStreamId)) throw notFound('liveStreamId')
  return liveStreamId
}

/** 22 characters hold 131 bits. */
export const newStreamKey = () => randomWord(22)
