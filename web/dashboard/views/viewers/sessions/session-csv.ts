import type { Loaded } from '../../../api/analytics.ts'
import type { ViewerSession } from '../../../api/viewing-sessions.ts'
import type { Sheet } from '../csv.ts'

/** The columns have the names of the API. */
export const sessionSheet = ({ rows, total }: Loaded<ViewerSession>): Sheet => ({
  header: [
    ...['sessionId', 'mediaId', 'title', 'loadedAt', 'endedAt', 'country', 'referrer', 'device', 'os'],
    ...['browser', 'plays', 'seconds', 'completion', 'ranges', 'metadata'],
  ],
  rows: rows.map(({ session, media, location, referrer, device, os, client, watch }) => [
    ...[session.sessionId, media.id, media.title, session.loadedAt, session.endedAt],
    ...[location.country, referrer.url, device.type, os.name, client.name],
    ...[watch.plays, watch.seconds, watch.completion],
    watch.ranges.map(({ from, to }) => `${from}-${to}`).join(' '),
    session.metadata.map(({ key, value }) => `${key}=${value}`).join(' '),
  ]),
  total,
})
