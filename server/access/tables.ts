import type { Environment } from '../environments.ts'

/** The session that the first use of a private token opened. */
export type PlaybackSessionRow = {
  token: string
  /** One of them. */
  video_id: string | null
  live_stream_id: string | null
  /** The id that the viewer sends with every request. */
  session: string
  /** Hash of the viewer's IP address and user agent. */
  viewer: Buffer
  opened_at: Date
}

/** A key with which a customer signs playback tokens. Only the customer has the private key. */
export type SigningKeyRow = {
  id: string
  environment: Environment
  name: string
  public_key: string
  created_at: Date
}

declare module '../tables.ts' {
  interface Tables {
    playback_sessions: PlaybackSessionRow
    signing_keys: SigningKeyRow
  }
}
