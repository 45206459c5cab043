import { idField, timeField } from '../lib/fields.ts'
import { nullable, oneOf, ref } from '../lib/http.ts'
import { listOf } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'

const number = (description: string, example: number) => Type.Number({ description, examples: [example] })

const protocols = ['rtmp', 'rtmps', 'srt', 'whip'] as const

const Link = Type.Object(
  {
    roundTrip: nullable(number('Seconds that a packet takes to the encoder and back.', 0.042)),
    packetLoss: number(
      'The share of the packets that had to be sent again, over the last ten seconds.',
      0.01,
    ),
    retransmittedPackets: number('Packets that had to be sent again.', 12),
    lostPackets: number('Packets that did not arrive in time.', 0),
  },
  { description: 'What the network loses. RTMP leaves this to TCP and does not know it.' },
)

const BroadcastHealth = Type.Object(
  {
    protocol: nullable(oneOf(protocols, { description: 'The protocol of the encoder.', examples: ['srt'] })),
    codecs: nullable(
      Type.String({
        description: 'The codecs as in an HLS playlist.',
        examples: ['avc1.64001f,mp4a.40.2'],
      }),
    ),
    width: nullable(number('Width of the video in pixels.', 1280)),
    height: nullable(number('Height of the video in pixels.', 720)),
    frameRate: nullable(number('Frames per second over the last ten seconds.', 30)),
    bitRate: nullable(number('Bits per second over the last ten seconds.', 2_500_000)),
    keyFrameInterval: nullable(number('Seconds between the last two key frames.', 2)),
    droppedFrames: number('Frames that have been missing from the stream since the encoder connected.', 0),
    clockJumps: number('Jumps in the timestamps of the encoder that were corrected.', 0),
    link: nullable(Link),
    problems: Type.Array(Type.String({ description: 'A sentence.', examples: ['The file store is full.'] }), {
      description: 'What is wrong or degraded at the moment, and why.',
    }),
  },
  { description: 'What the encoder sends, measured every second. The last values stay after the broadcast.' },
)

export const Broadcast = Type.Object(
  {
    broadcastId: idField('br', 'Id of the broadcast.'),
    state: oneOf(['live', 'away', 'ended'], {
      description:
        '`live`: the encoder is connected. `away`: it is disconnected and may reconnect. `ended`: the broadcast is over.',
      examples: ['live'],
    }),
    qualities: Type.Array(Type.String({ description: 'A quality.', examples: ['source'] }), {
      description: 'The qualities that viewers can watch, best first. `source` is what the encoder sends.',
    }),
    health: nullable(BroadcastHealth),
    restreams: Type.Array(
      Type.Object({
        name: Type.String({ description: 'Name of the restream.', examples: ['My channel'] }),
        state: oneOf(['connecting', 'live', 'retrying', 'stopped'], {
          description: '`connecting`, `live`, `retrying` or `stopped`.',
          examples: ['live'],
        }),
        reason: nullable(
          Type.String({ description: 'Why it is not live.', examples: ['The server refused the key.'] }),
        ),
        since: timeField('When it entered this state.'),
        droppedFrames: number('Frames that were dropped because the server was too slow.', 0),
      }),
      { description: 'The servers that the stream is also sent to.' },
    ),
    recordings: Type.Array(
      Type.Object({
        state: oneOf(['waiting', 'recorded', 'failed'], {
          description:
            '`waiting`: it is being processed. `recorded`: the video exists. `failed`: it can be retried.',
          examples: ['recorded'],
        }),
        reason: nullable(
          Type.String({
            description: 'Why it failed, or why it takes longer.',
            examples: ['The file store is full.'],
          }),
        ),
        videoId: nullable(idField('vi', 'Id of the video.')),
      }),
      { description: 'The videos that the broadcast becomes. Long broadcasts become several.' },
    ),
    startedAt: timeField('When the encoder connected.'),
    visibleAt: nullable(timeField('When viewers could first watch it.')),
    endedAt: nullable(timeField('When it ended.')),
  },
  {
    $id: 'Broadcast',
    description: 'One show of a live stream. It continues when the encoder reconnects in time.',
  },
)
export type Broadcast = Static<typeof Broadcast>

export const BroadcastList = listOf(ref(Broadcast), 'BroadcastList')
