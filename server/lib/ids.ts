import { randomFillSync } from 'node:crypto'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

// Generated in advance, because a call for a few bytes costs as much as a call for thousands.
const pool = Buffer.alloc(4096)
let used = pool.length

function randomByte(): number {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const byte = pool[used]!
  pool[used++] = 0
  return byte
}

/** Returns `length` random letters and digits. 22 characters hold 131 bits. */
export function randomWord(length: number): string {
  let word = ''
  while (word.length < length) {
    const byte = randomByte()
    // 248 is the largest multiple of 62 in a byte. Larger bytes would favor the first characters.
    if (byte < 248) word += alphabet[byte % 62]
  }
  return word
}

/** Returns an id such as `vi4blUQJFrYWbaG44NChkH27`. Clients recognize the type of an object by the prefix. */
export const newId = (prefix: string) => prefix + randomWord(22)

const own = /^[0-9A-Za-z]{22}$/
/**
 * An imported video, live stream or player theme keeps the id that another service has given it. Only characters that
 * follow "/" in the sort order, so that folders with these names have the same order as the names.
 */
const imported = /^[0-9A-Za-z_]{1,62}$/
const importedPrefixes = ['vi', 'li', 'pl']

export function isId(prefix: string, value: string): boolean {
  const rest = importedPrefixes.includes(prefix) ? imported : own
  return value.startsWith(prefix) && rest.test(value.slice(prefix.length))
}

const processPrefix = randomWord(8)
let requests = 0

/** A counter with a random prefix for each process. Random bytes for every request would cost more. */
export const newRequestId = () => `${processPrefix}-${(++requests).toString(36)}`
