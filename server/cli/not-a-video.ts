import { open } from 'node:fs/promises'
import { ClientError } from './client.ts'
import { type LocalFile, readOrThrow } from './local-file.ts'

/** How files begin that people take for videos, in hexadecimal. The service accepts none of these kinds. */
const signatures: [kind: string, pattern: RegExp][] = [
  ['a PNG image', /^89504e470d0a1a0a/],
  ['a JPEG image', /^ffd8ff/],
  ['a GIF image', /^47494638(37|39)61/],
  ['a WebP image', /^52494646.{8}57454250/],
  ['a PDF document', /^255044462d/],
  ['a ZIP archive', /^504b0304/],
  ['a gzip archive', /^1f8b/],
  ['a 7-Zip archive', /^377abcaf271c/],
  ['a RAR archive', /^526172211a07/],
]
const headBytes = 4_096

/** What the file certainly is, if it is neither video nor audio. Undefined if it may be. */
export function kindOf(head: Buffer): string | undefined {
  const start = head.toString('hex', 0, 16)
  const [kind] = signatures.find(([, pattern]) => pattern.test(start)) ?? []
  return kind ?? (isText(head) ? 'text' : undefined)
}

/** Every container of video or audio has other characters at its beginning. */
function isText(head: Buffer): boolean {
  try {
    // A character may be cut at the end.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true })
    return !/[^\P{Cc}\t\n\f\r]/u.test(text)
  } catch {
    return false
  }
}

/** Throws if the service would certainly reject the file. */
export async function checkIsMedia(file: LocalFile): Promise<void> {
  const head = await readOrThrow(file, async () => {
    await using handle = await open(file.path)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0)
    return buffer.subarray(0, bytesRead)
  })
  const kind = kindOf(head)
  if (kind) throw new ClientError(`${file.name} is ${kind}, not a video or audio file.`)
}
