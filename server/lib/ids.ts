import { randomFillSync } from 'node:crypto'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

// Drawn in advance: a call for a few bytes costs as much as one for thousands.
const drawn = Buffer.alloc(4096)
let used = drawn.length

function randomByte(): number {
  if (used === drawn.length) {
    randomFillSync(drawn)
    used = 0
  }
  const byte = drawn[used]!
  drawn[used++] = 0
  return byte
}

/** `length` random letters and digits; 22 of them hold 131 bits. */
export function randomWord(length: number): string {
  let word = ''
  while (word.length < length) {
    const byte = randomByte()
    // 248 is the largest multiple of 62 in a byte: taking more would favour the first letters.
    if (byte < 248) word += alphabet[byte % 62]
  }
  return word
}

/** An id such as `vi4blUQJFrYWbaG44NChkH27`: clients tell kinds of objects by the prefix. */
export const newId = (prefix: string) => prefix + randomWord(22)

export function isId(prefix: string, value: string): boolean {
  return value.startsWith(prefix) && /^[0-9A-Za-z]{22}$/.test(value.slice(prefix.length))
}

const processWord = randomWord(8)
let requests = 0

/** Told apart across processes by a word that each draws once; drawing for each request would cost more than it. */
export const newRequestId = () => `${processWord}-${(++requests).toString(36)}`
