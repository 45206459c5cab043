import type { Environment } from '../api/client.ts'
import type { WatermarkInput } from '../api/watermarks.ts'

export type TransferEvents = {
  onCreated(url: string, videoId: string | undefined): void
  onProgress(sent: number): void
  onDone(): void
  onError(error: Error): void
}

export type TransferSource = {
  environment: Environment
  file: File
  url: string | undefined
  target: string | undefined
  watermark: WatermarkInput | undefined
}

/** Stops the transfer. Resolves when the URL of the upload is known, or will never be. */
export type StopTransfer = () => Promise<void>
