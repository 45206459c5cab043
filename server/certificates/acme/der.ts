// The few types of ASN.1 that a certificate request needs, in the encoding of X.509 (DER).

function encode(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  return Buffer.concat([Buffer.from([tag]), encodeLength(content.length), content])
}

function encodeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const bytes = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex')
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes])
}

export const sequence = (...contents: Buffer[]) => encode(0x30, ...contents)
export const set = (...contents: Buffer[]) => encode(0x31, ...contents)
export const octetString = (...contents: Buffer[]) => encode(0x04, ...contents)
export const bitString = (content: Buffer) => encode(0x03, Buffer.from([0]), content)
export const utf8String = (text: string) => encode(0x0c, Buffer.from(text))
export const utcTime = (date: Date) =>
  encode(0x17, Buffer.from(date.toISOString().replace(/^20|[-:T]|\.\d+/g, '')))
/** A context-specific type, such as `[0]`. */
export const tagged = (number: number, ...contents: Buffer[]) => encode(0xa0 | number, ...contents)
/** The type `dNSName` of a subject alternative name. */
export const dnsName = (name: string) => encode(0x82, Buffer.from(name, 'ascii'))

/** Unsigned, with the most significant byte first. */
export function integer(value: Buffer): Buffer {
  const isNegative = (value[0] ?? 0) >= 0x80
  return encode(0x02, isNegative ? Buffer.concat([Buffer.from([0]), value]) : value)
}

export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return encode(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

/** Groups of seven bits. All but the last one have the highest bit. */
function base128(value: number): number[] {
  const groups = [value & 0x7f]
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) groups.unshift((rest & 0x7f) | 0x80)
  return groups
}
