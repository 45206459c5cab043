import {
  isChunkUrl,
  isIndexLast,
  readReceivedBytes,
  removeVideo,
  startChunkTransfer,
} from './chunk-transfer.ts'
import type { StopTransfer, TransferEvents, TransferSource } from './transfer-types.ts'
import { readTusOffset, removeTusUpload, startTusTransfer } from './tus-transfer.ts'

type Start = (source: TransferSource, events: TransferEvents) => StopTransfer

/** Sends a file, or what has not arrived of it yet. */
export function startTransfer(source: TransferSource, events: TransferEvents): StopTransfer {
  let isStopped = false
  const begin = async () => {
    const start = await choose(source)
    return isStopped ? undefined : start(source, events)
  }
  const started = begin().catch((error) => {
    if (!isStopped) events.onError(error)
  })
  return async () => {
    isStopped = true
    const stop = await started
    await stop?.()
  }
}

/**
 * tus continues in the middle of a chunk, but only from the beginning to the end of a file. So it is not used if the server
 * could not encode the file while it arrives, because its index is at the end.
 */
async function choose({ file, url, target }: TransferSource): Promise<Start> {
  // Otherwise a file that was changed or removed looks like a lost connection.
  await file.slice(0, 1).arrayBuffer()
  if (url) return isChunkUrl(url) ? startChunkTransfer : startTusTransfer
  return target === undefined && (await isIndexLast(file)) ? startChunkTransfer : startTusTransfer
}

/** How many bytes of an upload have arrived. Zero if that cannot be found out now. */
export const readOffset = (url: string): Promise<number> =>
  (isChunkUrl(url) ? readReceivedBytes(url) : readTusOffset(url)).catch(() => 0)

/** Cancels an upload and deletes its video. */
export const removeUpload = (url: string): Promise<void> =>
  isChunkUrl(url) ? removeVideo(url) : removeTusUpload(url)
