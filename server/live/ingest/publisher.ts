import type { AmfObject } from '../rtmp/amf0.ts'

/** A connection of an encoder, by whatever protocol. */
export type Connection = {
  remoteAddress: string
  isClosed(): boolean
  close(): void
  /**
   * Sends a few bytes. While nothing is read from an encoder, its disconnection goes unnoticed, unless its machine rejects
   * what it is sent.
   */
  probe(): void
}

/** Receives what an encoder sends after its stream key was accepted. Payloads are those of FLV tags. */
export type Publisher = {
  video(timestamp: number, payload: Buffer): void
  audio(timestamp: number, payload: Buffer): void
  metadata(values: AmfObject): void
  /** Undefined, or a promise that resolves when more can be received. Asked after each message. */
  drain?(): Promise<void> | undefined
  /** What the encoder still sends is discarded. */
  readonly isOver?: boolean
}

export type PublishAnswer =
  | {
      publisher: Publisher
      /** Called once when the connection has ended. */
      onClose?(): Promise<void>
    }
  | { refused: string }
