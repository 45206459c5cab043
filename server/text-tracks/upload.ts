import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import type { Context } from '../context.ts'
import { ApiError, fileErrors } from '../lib/errors.ts'
import { spoolUpload } from '../lib/spool.ts'
import { withWorkFolder } from '../lib/work.ts'
import { decodeText } from '../media/decode-text.ts'
import { srtToWebVtt } from '../media/srt.ts'
import { isWebVtt, withoutExternalContent } from '../media/webvtt.ts'

/** A hundred times the captions of a film. */
export const maxTrackBytes = 4 * 1024 * 1024

/** The WebVTT of an uploaded file. */
export function receiveTrack(
  context: Pick<Context, 'config' | 'space'>,
  request: IncomingMessage,
): Promise<string> {
  return withWorkFolder(context, async (folder) =>
    toWebVtt(await readFile(await spoolUpload(request, folder, maxTrackBytes))),
  )
}

/** Players ignore the malformed parts of a file that begins as WebVTT. */
export async function toWebVtt(bytes: Buffer): Promise<string> {
  const text = decodeText(bytes)
  const content = await (isWebVtt(text) ? withoutExternalContent(text) : srtToWebVtt(text))
  if (content !== undefined) return content
  const title = 'The file is neither WebVTT nor SRT.'
  throw new ApiError(fileErrors.wrongType, { title, name: 'file' })
}
