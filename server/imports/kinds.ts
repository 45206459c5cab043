export const serviceNames = ['api.video', 'kinora', 'mux', 'cloudflare', 's3', 'urls', 'folder'] as const
export type ServiceName = (typeof serviceNames)[number]

/** In the order of their import: videos and live streams refer to player themes. */
export const objectKinds = ['player', 'video', 'liveStream', 'webhook'] as const
export type ObjectKind = (typeof objectKinds)[number]

/**
 * `ready`: a preview that has listed everything. `running`: the list is read, or objects are imported. Only `ready`,
 * `running` and `paused` runs have credentials.
 */
export const runStates = ['running', 'ready', 'paused', 'completed', 'canceled', 'failed'] as const
export type RunState = (typeof runStates)[number]

export const itemStates = ['waiting', 'fetching', 'encoding', 'done', 'failed', 'skipped'] as const
export type ItemState = (typeof itemStates)[number]

/** What can be carried over besides the video itself. */
export const parts = [
  'captions',
  'chapters',
  'thumbnails',
  'summaries',
  'players',
  'liveStreams',
  'webhooks',
  'views',
] as const
export type Part = (typeof parts)[number]

/** Webhooks would send events of this service to receivers that still serve the old one. */
export const defaultParts: Part[] = parts.filter((part) => part !== 'webhooks')
