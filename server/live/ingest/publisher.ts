import type { AmfObject } from '../rtmp/amf0.ts'

// What all protocols share. Each has a folder with a function that listens, and returns an `IngestServer`. Everything
// behind a publisher does not know the protocol, which may change when an encoder reconnects.

export type Protocol = 'rtmp' | 'rtmps' | 'srt' | 'whip'

/** A server that encoders connect to by one protocol. */
export type IngestServer = {
  port: number
  /** No more encoders are accepted. Those that are connected stay. */
  close(): void
}

/** What a connection loses on its way. Protocols over TCP do not know it. */
export type Link = {
  /** Seconds to the encoder and back. Null until it is measured. */
  roundTrip: number | null
  /** The share of the packets that had to be sent again, over the last ten seconds. */
  packetLoss: number
  retransmittedPackets: number
  /** Packets that did not arrive in time. */
  lostPackets: number
}

/** A connection of an encoder. */
export type Connection = {
  protocol: Protocol
  remoteAddress: string
  isClosed(): boolean
  close(): void
  /**
   * Sends a few bytes. While nothing is read from an encoder, its disconnection goes unnoticed, unless its machine rejects
   * what it is sent.
   */
  probe(): void
  /** Measured since it connected, with what the encoder should change, if it should. */
  link?(): { link: Link; problem: string | undefined }
}

/**
 * Decides about a stream key. `verify` gets the passphrase of the live stream, which is for SRT, and returns why the encoder
 * is refused in spite of its key.
 */
export type Publish = (
  streamKey: string,
  connection: Connection,
  verify?: (srtPassphrase: string | null) => Promise<string | undefined>,
) => Promise<PublishAnswer>

/** Receives what an encoder sends after its stream key was accepted. Payloads are those of FLV tags. */
export type Publisher = {
  video(timestamp: number, payload: Buffer): void
  audio(timestamp: number, payload: Buffer): void
  metadata(values: AmfObject): void
  /** The encoder sends what cannot be broadcast. The reason is a sentence for the owner of the live stream. */
  refuse?(reason: string): void
  /** Undefined, or a promise that resolves when more can be received. Asked after each message. */
  drain?(): Promise<void> | undefined
  /** What the encoder still sends is discarded. */
  readonly isOver?: boolean
}

export type Refusal = 'unauthorized' | 'occupied' | 'closing'
export type Refused = { refused: string; kind: Refusal }

export type PublishAnswer =
  | {
      publisher: Publisher
      /** Called once when the connection has ended. */
      onClose?(): Promise<void>
    }
  | Refused

/**
 * Decides about a stream key before the encoder connects, as far as that is known. What it returns for an accepted encoder
 * is the environment of the live stream.
 */
export type Admit = (streamKey: string) => Promise<{ environment: string } | Refused>
