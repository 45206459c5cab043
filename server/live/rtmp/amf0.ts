// AMF0 is the encoding of RTMP commands: https://rtmp.veriskope.com/pdf/amf0-file-format-specification.pdf

export type AmfValue = number | boolean | string | null | undefined | AmfObject | AmfValue[]
export type AmfObject = { [key: string]: AmfValue }

/** A message that no encoder sends. The connection is closed. */
export class AmfError extends Error {}

// Encoders send flat objects with a few dozen properties.
const maxDepth = 8
const maxValues = 1_000

const marker = {
  number: 0,
  boolean: 1,
  string: 2,
  object: 3,
  null: 5,
  undefined: 6,
  reference: 7,
  ecmaArray: 8,
  objectEnd: 9,
  strictArray: 10,
  date: 11,
  longString: 12,
  unsupported: 13,
  xml: 15,
  typedObject: 16,
} as const

/** Decodes all values of a command message. */
export function decodeAmf(bytes: Buffer): AmfValue[] {
  const reader = new AmfReader(bytes)
  const values: AmfValue[] = []
  while (!reader.isAtEnd) values.push(reader.readValue(0))
  return values
}

class AmfReader {
  readonly #bytes: Buffer
  #at = 0
  #values = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  readValue(depth: number): AmfValue {
    if (depth > maxDepth) throw new AmfError('AMF: the values are nested too deeply')
    if (++this.#values > maxValues) throw new AmfError('AMF: the message has too many values')
    const type = this.#take(1).readUInt8()
    switch (type) {
      case marker.number:
        return this.#take(8).readDoubleBE()
      case marker.boolean:
        return this.#take(1).readUInt8() !== 0
      case marker.string:
        return this.#readString(2)
      case marker.longString:
      case marker.xml:
        return this.#readString(4)
      case marker.object:
        return this.#readObject(depth)
      case marker.typedObject:
        this.#readString(2)
        return this.#readObject(depth)
      case marker.ecmaArray:
        // The count is a hint only. An end marker follows the last property.
        this.#take(4)
        return this.#readObject(depth)
      case marker.strictArray:
        return this.#readArray(depth)
      case marker.date:
        // A time zone of two bytes follows the time.
        return this.#take(10).readDoubleBE()
      case marker.null:
        return null
      case marker.undefined:
      case marker.unsupported:
        return undefined
      default:
        throw new AmfError(`AMF: the type ${type} is not supported`)
    }
  }

  #readObject(depth: number): AmfObject {
    // Without a prototype, a property named __proto__ is a property like any other.
    const object: AmfObject = Object.create(null)
    for (;;) {
      const key = this.#readString(2)
      if (key === '' && this.#bytes[this.#at] === marker.objectEnd) {
        this.#at += 1
        return object
      }
      object[key] = this.readValue(depth + 1)
    }
  }

  #readArray(depth: number): AmfValue[] {
    const length = this.#take(4).readUInt32BE()
    if (length > maxValues) throw new AmfError('AMF: an array is too long')
    return Array.from({ length }, () => this.readValue(depth + 1))
  }

  #readString(lengthBytes: 2 | 4): string {
    const length = this.#take(lengthBytes).readUIntBE(0, lengthBytes)
    return this.#take(length).toString('utf8')
  }

  #take(length: number): Buffer {
    const end = this.#at + length
    if (end > this.#bytes.length) throw new AmfError('AMF: the message ends within a value')
    const bytes = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return bytes
  }
}

/** Encodes an object as an ECMA array, which is the type of metadata. */
export function encodeEcmaArray(values: AmfObject): Buffer {
  const head = Buffer.alloc(5, marker.ecmaArray)
  head.writeUInt32BE(Object.keys(values).length, 1)
  return Buffer.concat([head, ...encodeProperties(values)])
}

/** Encodes the values of a command message. */
export const encodeAmf = (...values: AmfValue[]): Buffer => Buffer.concat(values.flatMap(encodeValue))

function encodeValue(value: AmfValue): Buffer[] {
  if (value === null) return [Buffer.from([marker.null])]
  if (Array.isArray(value)) {
    const head = Buffer.alloc(5, marker.strictArray)
    head.writeUInt32BE(value.length, 1)
    return [head, ...value.flatMap(encodeValue)]
  }
  switch (typeof value) {
    case 'number': {
      const bytes = Buffer.alloc(9, marker.number)
      bytes.writeDoubleBE(value, 1)
      return [bytes]
    }
    case 'boolean':
      return [Buffer.from([marker.boolean, Number(value)])]
    case 'string': {
      const isLong = Buffer.byteLength(value) > 0xffff
      return [Buffer.from([isLong ? marker.longString : marker.string]), encodeString(value, isLong ? 4 : 2)]
    }
    case 'object':
      return [Buffer.from([marker.object]), ...encodeProperties(value)]
    default:
      return [Buffer.from([marker.undefined])]
  }
}

const encodeProperties = (values: AmfObject): Buffer[] => [
  ...Object.entries(values).flatMap(([key, value]) => [encodeString(key, 2), ...encodeValue(value)]),
  Buffer.from([0, 0, marker.objectEnd]),
]

function encodeString(text: string, lengthBytes: 2 | 4): Buffer {
  const bytes = Buffer.from(text)
  const length = Buffer.alloc(lengthBytes)
  length.writeUIntBE(bytes.length, 0, lengthBytes)
  return Buffer.concat([length, bytes])
}
