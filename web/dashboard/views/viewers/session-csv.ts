import type { ViewerSession } from '../../api/viewing-sessions.ts'
import type { Cell } from './csv.ts'

/** The columns have the names of the API. */
export const sessionRows = (sessions: ViewerSession[]): Cell[][] => [
  [
    ...['sessionId', 'mediaId', 'title', 'loadedAt', 'endedAt', 'country', 'referrer', 'device', 'os'],
    ...['browser', 'plays', 'seconds', 'completion', 'ranges', 'metadata'],
  ],
  ...sessions.map(({ session, media, location, referrer, device, os, client, watch }) => [
    ...[session.sessionId, media.id, media.title, session.loadedAt, session.endedAt],
    ...[location.country, referrer.url, device.type, os.name, client.name],
    ...[watch.plays, watch.seconds, watch.completion],
    watch.ranges.map(({ from, to }) => `${from}-${to}`).join(' '),
    session.metadata.map(({ key, value }) => `${key}=${value}`).join(' '),
  ]),
]
