import { call, type Server } from './client.ts'
import { command } from './command.ts'
import { findIngestUrl } from './ingest.ts'
import { createLiveStream, findLiveStream, type LiveStream, pathOf } from './live-streams.ts'

export const liveCommands = [
  command({
    name: 'live create',
    summary: 'Create a live stream and print what an encoder needs',
    operands: ['NAME'],
    options: { private: { type: 'boolean', meaning: 'Make it private' } },
    details: ['In OBS, use the server and the stream key in Settings, Stream, with the service Custom.'],
    callsApi: true,
    examples: ['kinora live create "My show"'],
    json: 'the live stream object of the API',
    async run({ operands: [name], options, output, connect }) {
      const server = await connect()
      const ingestUrl = findIngestUrl(server.url)
      const stream = await createLiveStream(server, name, !options.private)
      output.print(formatCreated(stream, ingestUrl), stream)
    },
  }),
  command({
    name: 'live list',
    summary: 'List the newest 100 live streams, newest last',
    operands: [],
    options: {},
    callsApi: true,
    examples: ['kinora live list', 'kinora live list --json'],
    json: 'an array of live stream objects of the API',
    async run({ output, connect }) {
      const { streams, total } = await listLiveStreams(await connect())
      const text = streams.map(formatLiveStream).join('\n')
      output.print(streams.length === 0 ? 'There are no live streams.' : text, streams)
      if (streams.length < total)
        output.warn(`Showing the newest ${streams.length} of ${total} live streams.`)
    },
  }),
  command({
    name: 'live key',
    summary: 'Print the stream key of a live stream',
    operands: ['STREAM'],
    options: {
      rotate: { type: 'boolean', meaning: 'Replace the key; the previous one stops working' },
    },
    details: [
      'Anyone with the key can broadcast. A broadcast in progress continues when the key is replaced.',
    ],
    callsApi: true,
    examples: [
      'kinora live key li4pqNqGUkhKfWcBGpZVLRY5',
      'kinora live key li4pqNqGUkhKfWcBGpZVLRY5 --rotate',
    ],
    json: '`{"liveStreamId", "streamKey"}`',
    async run({ operands: [id], options, output, connect }) {
      const server = await connect()
      const { liveStreamId, streamKey } = options.rotate
        ? await call<LiveStream>(server, 'POST', `${pathOf(id)}/stream-key`)
        : await findLiveStream(server, id)
      output.print(streamKey, { liveStreamId, streamKey })
    },
  }),
  command({
    name: 'live end',
    summary: 'End the broadcast of a live stream',
    operands: ['STREAM'],
    options: {},
    details: ['The encoder is disconnected. The recording becomes a video.'],
    callsApi: true,
    examples: ['kinora live end li4pqNqGUkhKfWcBGpZVLRY5'],
    json: '`{"liveStreamId", "wasBroadcasting"}`',
    async run({ operands: [id], output, connect }) {
      const server = await connect()
      const { liveStreamId, broadcasting } = await findLiveStream(server, id)
      await call(server, 'PUT', `${pathOf(id)}/complete`)
      output.print(broadcasting ? 'The broadcast is being ended.' : 'There is no broadcast to end.', {
        liveStreamId,
        wasBroadcasting: broadcasting,
      })
    },
  }),
  command({
    name: 'live publish',
    summary: 'Broadcast a file or a test pattern, to try a live stream without OBS',
    operands: ['[FILE]'],
    options: {
      stream: {
        type: 'string',
        short: 's',
        value: 'STREAM',
        meaning: 'The id of the live stream; by default a new one is created',
      },
    },
    details: [
      'Without a file, the command sends a test pattern with a running clock and a tone. The URL of the player page is printed immediately. The file is sent in real time. Ctrl-C ends the broadcast.',
      'H.264, AAC and MP3 are sent as they are. Everything else is encoded, with at most 720p and a key frame every 2 seconds.',
      'The command needs ffmpeg, and it connects to the RTMP port of the service (KINORA_RTMP_PORT, by default 1935).',
    ],
    callsApi: true,
    examples: ['kinora live publish', 'kinora live publish film.mp4 --stream li4pqNqGUkhKfWcBGpZVLRY5'],
    json: 'one object at the start, `{"liveStreamId", "player", "server"}`, and one at the end, `{"liveStreamId", "durationMs", "bytes"}`',
    async run({ operands: [file], options, output, connect }) {
      // Imported on demand: the other commands need nothing of it.
      const { publish } = await import('./publish.ts')
      await publish({ file, liveStreamId: options.stream }, await connect(), output)
    },
  }),
]

const maxListed = 100

/** The newest live streams, newest last, and how many there are. */
async function listLiveStreams(server: Server): Promise<{ streams: LiveStream[]; total: number }> {
  const query = `sortBy=createdAt&sortOrder=desc&pageSize=${maxListed}`
  const { data, pagination } = await call<{ data: LiveStream[]; pagination: { itemsTotal: number } }>(
    server,
    'GET',
    `/live-streams?${query}`,
  )
  return { streams: data.toReversed(), total: pagination.itemsTotal }
}

const formatCreated = ({ liveStreamId, streamKey, assets }: LiveStream, ingestUrl: string) =>
  [
    `id          ${liveStreamId}`,
    `server      ${ingestUrl}`,
    `stream key  ${streamKey}`,
    `player      ${assets.player}`,
  ].join('\n')

/** Control characters in a name could change what the terminal shows. */
const formatLiveStream = ({ createdAt, liveStreamId, broadcasting, name }: LiveStream) =>
  [createdAt, liveStreamId, broadcasting ? 'live' : 'idle', name.replaceAll(/\p{Cc}/gu, ' ')]
    .join('  ')
    .trimEnd()
