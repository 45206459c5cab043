import { call } from './client.ts'
import { command } from './command.ts'
import { UsageError } from './errors.ts'
import { findEvents, formatEvent } from './event-log.ts'
import { listen } from './listen.ts'

const maxListedEvents = 100

export const eventsCommands = [
  command({
    name: 'events list',
    summary: 'List the last 100 events, newest last',
    operands: [],
    options: {
      type: { type: 'string', value: 'TYPE', meaning: 'Only events of this type' },
      video: { type: 'string', value: 'VIDEO', meaning: 'Only events of this video' },
    },
    callsApi: true,
    examples: ['kinora events list --type video.encoding.quality.completed'],
    json: 'an array of event objects of the API',
    async run({ options: { type, video: videoId }, output, connect }) {
      const filters = { ...(type !== undefined && { type }), ...(videoId !== undefined && { videoId }) }
      const found = await findEvents(await connect(), filters, maxListedEvents)
      const events = found.toReversed()
      output.print(events.length === 0 ? 'There are no events.' : events.map(formatEvent).join('\n'), events)
    },
  }),
  command({
    name: 'events replay',
    summary: 'Send an event again to every webhook that subscribes to it',
    operands: ['EVENT'],
    options: {},
    callsApi: true,
    examples: ['kinora events replay event_4blUQJFrYWbaG44NChkH27'],
    json: '`{"count"}`: the number of webhooks',
    async run({ operands: [eventId], output, connect }) {
      const path = `/events/${encodeURIComponent(eventId)}/replay`
      const replayed = await call<{ count: number }>(await connect(), 'POST', path)
      output.print(formatReplay(replayed), replayed)
    },
  }),
  command({
    name: 'webhooks listen',
    summary: 'Print new events and post them to a URL',
    operands: [],
    options: {
      'forward-to': { type: 'string', short: 'f', value: 'URL', meaning: 'The URL that receives the events' },
    },
    details: [
      'The command polls the API until you stop it, so the service does not need to reach your machine. It signs the requests as the service does, with a secret that it prints at the start.',
    ],
    callsApi: true,
    examples: ['kinora webhooks listen --forward-to http://localhost:3000/hook'],
    json: 'first `{"forwardTo", "secret"}`, then each event object of the API with `"response"` (the status of the receiver) or `"error"`',
    async run({ options, output, connect }) {
      const target = options['forward-to']
      if (target !== undefined && !/^https?:$/.test(URL.parse(target)?.protocol ?? ''))
        throw new UsageError(`--forward-to must be an http or https URL, not "${target}".`)
      await listen(await connect(), target, output)
    },
  }),
]

const formatReplay = ({ count }: { count: number }) =>
  count === 0
    ? 'No webhook subscribes to this event.'
    : `The event will be sent again to ${count} webhook${count === 1 ? '' : 's'}.`
