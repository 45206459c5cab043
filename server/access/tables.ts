import type { Environment } from '../environments.ts'

/** A token of a private video that has been used, and by whom. */
export type PlaybackSessionRow = {
  token: string
  video_id: string
  /** What its viewer shows from then on. */
  session: string
  /** Hash of the viewer's address and user agent. */
  viewer: Buffer
  opened_at: Date
}

/** A key by which a customer signs playback tokens; the private half is the customer's alone. */
export type SigningKeyRow = {
  id: string
  environment: Environment
  name: string
  public_key: string
  created_at: Date
}

export type AccessTables = {
  playback_sessions: PlaybackSessionRow
  signing_keys: SigningKeyRow
}
