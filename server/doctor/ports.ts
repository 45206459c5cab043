import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { createServer } from 'node:net'
import { type Check, type DoctorContext, type Finding, failed, ok, warning } from './check.ts'

type Port = { port: number; setting: string; what: string; isUdp?: boolean }

function portsOf({ config }: DoctorContext): Port[] {
  const isLive = config.roles.has('live')
  return [
    { port: config.port, setting: 'KINORA_PORT', what: config.tls || config.acme ? 'HTTPS' : 'HTTP' },
    ...(config.acme ? [{ port: config.acme.httpPort, setting: 'KINORA_HTTP_PORT', what: 'HTTP' }] : []),
    ...(isLive ? [{ port: config.rtmpPort, setting: 'KINORA_RTMP_PORT', what: 'RTMP' }] : []),
    ...(isLive ? [{ port: config.srtPort, setting: 'KINORA_SRT_PORT', what: 'SRT', isUdp: true }] : []),
    ...(isLive && config.webrtcPort !== undefined
      ? [{ port: config.webrtcPort, setting: 'KINORA_WEBRTC_PORT', what: 'WebRTC', isUdp: true }]
      : []),
    ...(isLive && config.webrtcPort !== undefined && config.webrtcTcpPort !== undefined
      ? [{ port: config.webrtcTcpPort, setting: 'KINORA_WEBRTC_TCP_PORT', what: 'WebRTC over TCP' }]
      : []),
    ...(isLive && (config.tls || config.acme)
      ? [{ port: config.rtmpsPort, setting: 'KINORA_RTMPS_PORT', what: 'RTMPS' }]
      : []),
  ].filter(({ port }) => port !== 0)
}

export const portsCheck: Check = {
  name: 'ports',
  ifStuck: 'Check KINORA_HOST.',
  async run(context) {
    const ports = portsOf(context)
    if (ports.length === 0) return ok('The system chooses free ports.')
    const findings = await Promise.all(ports.map((port) => examine(context, port)))
    return findings
  },
}

async function examine({ config, localUrl, isDataHidden }: DoctorContext, port: Port): Promise<Finding> {
  const error = await (port.isUdp ? tryBind : tryListen)(config.host, port.port)
  const isRunning = localUrl !== undefined
  return judgePort(port, error, { host: config.host, isRunning, isHidden: isDataHidden })
}

export function judgePort(
  { port, setting, what, isUdp = false }: Port,
  error: NodeJS.ErrnoException | undefined,
  { host, isRunning, isHidden = false }: { host: string; isRunning: boolean; isHidden?: boolean },
): Finding {
  const name = `Port ${port} (${what})`
  const forward =
    setting === 'KINORA_HTTP_PORT'
      ? ' and forward port 80 to it, where the certificate authority sends its requests'
      : ''
  if (!error && isRunning) return ok(`${name} is free: the running service has other settings or roles.`)
  if (!error) return ok(`${name} is free.`)
  if (error.code === 'EADDRINUSE') {
    if (isRunning) return ok(`${name} is used by the running service.`)
    if (isHidden)
      return warning(
        `${name} is used, maybe by a service that this user cannot examine.`,
        'Run this command as the user who runs Kinora.',
      )
    return failed(
      `${name} is used by another program.`,
      `Stop that program ("ss -l${isUdp ? 'u' : 't'}np" shows it), or choose another port with ${setting}${forward}.`,
    )
  }
  if (error.code === 'EACCES')
    return failed(
      `This user is not allowed to use port ${port} (${what}).`,
      `Grant CAP_NET_BIND_SERVICE, or choose a port above 1023 with ${setting}${forward}.`,
    )
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return failed(
      `This machine does not have the address in KINORA_HOST (${host}).`,
      'Correct KINORA_HOST: 0.0.0.0 listens on every interface.',
    )
  return failed(`${name} cannot be used: ${error.message}.`, `Correct KINORA_HOST or ${setting}.`)
}

/** Listens for a moment, unless the port is in use. */
function tryListen(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', resolve)
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}

async function tryBind(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  const { family } = await lookup(host)
  return new Promise((resolve) => {
    const socket = createSocket(family === 6 ? 'udp6' : 'udp4')
    socket.once('error', resolve)
    socket.bind({ port, address: host, exclusive: true }, () => socket.close(() => resolve(undefined)))
  })
}
