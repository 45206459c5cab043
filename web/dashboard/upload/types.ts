import type { Environment } from '../api/client.ts'
import type { WatermarkInput } from '../api/watermarks.ts'

/**
 * `interrupted` continues by itself when the server can be reached again, unless it `needs` something. `processing`
 * begins when all bytes have arrived.
 */
type UploadState = 'waiting' | 'uploading' | 'paused' | 'interrupted' | 'processing' | 'ready' | 'failed'

/** What a page shows of an upload. Never changed in place. */
export type Upload = {
  id: string
  environment: Environment
  name: string
  size: number
  modifiedAt: number
  state: UploadState
  sent: number
  bytesPerSecond: number | undefined
  secondsLeft: number | undefined
  videoId: string | undefined
  /** From 0 to 1. The server begins while the file is sent, if it can. Undefined before it has examined the file. */
  encoded: number | undefined
  isPlayable: boolean
  /** An existing video without content that gets the file. Without it, a video is created. */
  target: string | undefined
  /** That of the video that is created. */
  watermark: WatermarkInput | undefined
  /** After a reload the browser may have no access to the file any more. */
  needs: 'file' | 'permission' | undefined
  /** Why it failed or was interrupted. */
  message: string | undefined
  /** False if the file itself is the reason for the failure. */
  canRetry: boolean
}

/** What is kept in the browser, so that an upload can continue after a reload. */
export type StoredUpload = Pick<
  Upload,
  'id' | 'environment' | 'name' | 'size' | 'modifiedAt' | 'videoId' | 'target' | 'watermark'
> & {
  addedAt: number
  isPaused: boolean
  /** Where the bytes are sent to, once the upload has been created. */
  url: string | undefined
  handle: FileSystemFileHandle | undefined
}

/** A file that somebody has dropped or selected. Some browsers offer a handle, which outlives a reload. */
export type PickedFile = { file: File; handle?: FileSystemFileHandle | undefined }
