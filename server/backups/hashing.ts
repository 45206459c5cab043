import { createHash } from 'node:crypto'
import type { Body } from '../lib/files/files.ts'

export type Checksum = { size: number; sha256: string }

/** Passes a body on, and computes its checksum. `result` is valid at the end of the body. */
export function hashed(
  body: AsyncIterable<Buffer>,
  onBytes: (bytes: number) => void = () => {},
): { body: Body; result(): Checksum } {
  const hash = createHash('sha256')
  let size = 0
  async function* pass() {
    for await (const bytes of body) {
      hash.update(bytes)
      size += bytes.length
      onBytes(bytes.length)
      yield bytes
    }
  }
  return { body: pass(), result: () => ({ size, sha256: hash.digest('hex') }) }
}

export async function checksumOf(
  body: AsyncIterable<Buffer>,
  onBytes?: (bytes: number) => void,
): Promise<Checksum> {
  const { body: read, result } = hashed(body, onBytes)
  for await (const _ of read);
  return result()
}
