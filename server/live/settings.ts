import { isIP } from 'node:net'
import { InvalidValue, integer, optional, type ReadValues, setting, url } from '../lib/settings.ts'

function ipAddresses(value: string): string[] {
  const list = value
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)
  for (const each of list)
    if (!isIP(each)) throw new InvalidValue(`must be IP addresses separated by commas, not "${each}"`)
  return list
}

export const liveSettings = {
  rtmpPort: setting({
    name: 'KINORA_RTMP_PORT',
    default: '1935',
    meaning: 'Port of the RTMP server. 0 picks a free port.',
    read: integer(0, 65535),
  }),
  rtmpsPort: setting({
    name: 'KINORA_RTMPS_PORT',
    default: '1936',
    meaning:
      'Port of the RTMPS server, which runs when there is a certificate (KINORA_DOMAIN or KINORA_TLS_CERT). 0 picks a free port.',
    read: integer(0, 65535),
  }),
  srtPort: setting({
    name: 'KINORA_SRT_PORT',
    default: '6200',
    meaning: 'UDP port of the SRT server. 0 picks a free port.',
    read: integer(0, 65535),
  }),
  srtLatencyMs: setting({
    name: 'KINORA_SRT_LATENCY_MS',
    default: '120',
    meaning:
      'How long SRT waits for a packet that was lost and is sent again, unless the encoder sets a higher latency. About four times the round trip is enough.',
    read: integer(20, 8_000),
  }),
  webrtcPort: setting({
    name: 'KINORA_WEBRTC_PORT',
    default: '8189',
    meaning:
      'UDP port on which browsers and other encoders send over WebRTC (WHIP). 0 picks a free port, off turns WHIP off.',
    read: (value) => (value === 'off' ? undefined : integer(0, 65535)(value)),
  }),
  webrtcTcpPort: setting({
    name: 'KINORA_WEBRTC_TCP_PORT',
    default: '',
    meaning:
      'TCP port for the same, for encoders whose network blocks UDP. 0 picks a free port. If not set, encoders use UDP only.',
    read: optional(integer(0, 65535)),
  }),
  webrtcAddresses: setting({
    name: 'KINORA_WEBRTC_ADDRESSES',
    default: '',
    meaning:
      'IP addresses at which encoders reach these ports, separated by commas. Behind NAT and in a container, these are not its own. If not set: the addresses of the network interfaces, and that of the host in KINORA_PUBLIC_URL or KINORA_DOMAIN.',
    read: ipAddresses,
  }),
  internalUrl: setting({
    name: 'KINORA_INTERNAL_URL',
    default: '',
    meaning:
      'URL by which the other Kinora processes reach this one, such as http://10.0.0.5:8080. Needed for low latency when live and api run on several machines. If not set: the address and port on which this process listens, which works on one machine only.',
    read: optional(url('http:', 'https:')),
  }),
  liveReconnectSeconds: setting({
    name: 'KINORA_LIVE_RECONNECT_SECONDS',
    default: '60',
    meaning: 'An encoder that returns within this time continues its broadcast.',
    read: integer(1, 3_600),
  }),
  liveRewindSeconds: setting({
    name: 'KINORA_LIVE_REWIND_SECONDS',
    default: '3600',
    meaning: 'How far back viewers of a live stream can rewind.',
    read: integer(60, 86_400),
  }),
  liveRecordingHours: setting({
    name: 'KINORA_LIVE_RECORDING_HOURS',
    default: '12',
    meaning: 'A recording of a longer broadcast becomes several videos of this many hours each.',
    read: integer(1, 24),
  }),
  liveSandboxSeconds: setting({
    name: 'KINORA_LIVE_SANDBOX_SECONDS',
    default: '1800',
    meaning: 'Broadcasts of the sandbox end after this many seconds. 0 turns this off.',
    read: integer(0, 1e9),
  }),
}

declare module '../config.ts' {
  interface Config extends ReadValues<typeof liveSettings> {}
}
