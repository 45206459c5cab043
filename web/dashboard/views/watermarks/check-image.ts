import { messages } from '../../messages/messages.ts'
import { formatBytes } from '../../ui/format.ts'

const maxBytes = 8 * 1024 * 1024

/** A sentence about why the server would reject a file. It ends the connection while a file that is too large arrives. */
export function checkImage({ type, size }: File): string | undefined {
  if (type !== 'image/png' && type !== 'image/jpeg') return messages.watermarks.wrongType
  return size > maxBytes ? messages.watermarks.tooLarge(formatBytes(size)) : undefined
}
