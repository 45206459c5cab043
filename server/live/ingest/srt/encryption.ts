import { createDecipheriv, pbkdf2 } from 'node:crypto'
import { promisify } from 'node:util'

// The encryption of SRT: AES in counter mode, with keys that the sender wraps by a key that is derived from the passphrase.

const derive = promisify(pbkdf2)
const iterations = 2_048
const headerBytes = 16
const saltBytes = 16
const integrityBytes = 8

/** The sender and we do not have the same passphrase. */
export class WrongPassphrase extends Error {}

type KeyMaterial = {
  /** Which keys follow: 1 is the even one, 2 is the odd one. */
  keys: number
  salt: Buffer
  keyBytes: number
  wrapped: Buffer
}

/** Undefined for anything but AES in counter mode. */
function readKeyMaterial(message: Buffer): KeyMaterial | undefined {
  if (message.length < headerBytes + saltBytes + integrityBytes) return undefined
  const keys = message[3]! & 3
  const saltLength = 4 * message[14]!
  const keyBytes = 4 * message[15]!
  const [versionAndType, signature, aesCtr] = [0x12, 0x2029, 2]
  const count = (keys & 1) + (keys >> 1)
  const wrapped = message.subarray(
    headerBytes + saltBytes,
    headerBytes + saltBytes + integrityBytes + count * keyBytes,
  )
  const isUsable =
    message[0] === versionAndType &&
    message.readUInt16BE(1) === signature &&
    message[8] === aesCtr &&
    saltLength === saltBytes &&
    [16, 24, 32].includes(keyBytes) &&
    count > 0 &&
    wrapped.length === integrityBytes + count * keyBytes
  return isUsable
    ? { keys, salt: message.subarray(headerBytes, headerBytes + saltBytes), keyBytes, wrapped }
    : undefined
}

/** Decrypts the packets of a connection. */
export class Decryption {
  readonly #passphrase: string
  /** The even and the odd one. The sender changes from one to the other. */
  readonly #keys: { key: Buffer; salt: Buffer }[] = []

  constructor(passphrase: string) {
    this.#passphrase = passphrase
  }

  /** Takes the keys of a message. Rejects with `WrongPassphrase`. */
  async addKeys(message: Buffer): Promise<void> {
    const material = readKeyMaterial(message)
    if (!material) throw new WrongPassphrase('The key material of the encoder is not understood.')
    const { keys, keyBytes, wrapped } = material
    const salt = Buffer.from(material.salt)
    const wrappingKey = await derive(this.#passphrase, salt.subarray(8), iterations, keyBytes, 'sha1')
    const unwrapped = unwrap(wrapped, wrappingKey)
    for (const [i, bit] of [1, 2].filter((bit) => keys & bit).entries())
      this.#keys[bit] = { key: unwrapped.subarray(i * keyBytes, (i + 1) * keyBytes), salt }
  }

  /** Undefined without the key. `key` is 1 for the even and 2 for the odd one. */
  decrypt(payload: Buffer, key: number, sequence: number): Buffer | undefined {
    const found = this.#keys[key]
    if (!found) return undefined
    const counter = Buffer.alloc(16)
    found.salt.copy(counter, 0, 0, 14)
    // The sequence number is at 10 to 13. The last two bytes count blocks.
    counter.writeUInt32BE((counter.readUInt32BE(10) ^ sequence) >>> 0, 10)
    return createDecipheriv(`aes-${8 * found.key.length}-ctr`, found.key, counter).update(payload)
  }
}

/** RFC 3394. A wrong key is noticed. */
function unwrap(wrapped: Buffer, key: Buffer): Buffer {
  const decipher = createDecipheriv(`id-aes${8 * key.length}-wrap`, key, Buffer.alloc(8, 0xa6))
  try {
    return Buffer.concat([decipher.update(wrapped), decipher.final()])
  } catch {
    throw new WrongPassphrase('The passphrase is wrong.')
  }
}
