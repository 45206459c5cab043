import { isUtf8 } from 'node:buffer'

/**
 * Decodes a text file of unknown encoding: UTF-8, UTF-16 or Windows-1252. The result has no byte order mark and no NUL
 * characters, which Postgres cannot store.
 */
export const decodeText = (bytes: Buffer): string =>
  new TextDecoder(encodingOf(bytes))
    .decode(bytes)
    .replace(/^\uFEFF+/, '')
    .replaceAll('\0', '\uFFFD')

function encodingOf(bytes: Buffer): string {
  const [a, b, c, d] = bytes
  if (a === 0xff && b === 0xfe) return 'utf-16le'
  if (a === 0xfe && b === 0xff) return 'utf-16be'
  // Without a byte order mark: these files begin with ASCII characters.
  if (a !== 0 && b === 0 && c !== 0 && d === 0) return 'utf-16le'
  if (a === 0 && b !== 0 && c === 0 && d !== 0) return 'utf-16be'
  return isUtf8(bytes) || isDamagedUtf8(bytes) ? 'utf-8' : 'windows-1252'
}

/** A few wrong bytes do not turn UTF-8 into another encoding. In Windows-1252 hardly any letter is valid UTF-8. */
function isDamagedUtf8(bytes: Buffer): boolean {
  let [valid, invalid] = [0, 0]
  for (const character of new TextDecoder().decode(bytes)) {
    if (character === '\uFFFD') invalid++
    else if (character > '\x7f') valid++
  }
  return valid > invalid
}
