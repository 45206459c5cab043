import { createServer } from 'node:net'
import { type Check, type DoctorContext, type Finding, failed, ok } from './check.ts'

type Port = { port: number; setting: string; what: string }

function portsOf({ config }: DoctorContext): Port[] {
  const isLive = config.roles.has('live')
  return [
    { port: config.port, setting: 'KINORA_PORT', what: 'HTTP' },
    ...(isLive ? [{ port: config.rtmpPort, setting: 'KINORA_RTMP_PORT', what: 'RTMP' }] : []),
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

async function examine({ config, localUrl }: DoctorContext, { port, setting, what }: Port): Promise<Finding> {
  const error = await tryListen(config.host, port)
  if (!error) {
    if (localUrl)
      return ok(`Port ${port} (${what}) is free: the running service has other settings or roles.`)
    return ok(`Port ${port} (${what}) is free.`)
  }
  if (error.code === 'EADDRINUSE') {
    if (localUrl) return ok(`Port ${port} (${what}) is used by the running service.`)
    return failed(
      `Port ${port} (${what}) is used by another program.`,
      `Stop that program ("ss -ltnp" shows it), or choose another port with ${setting}.`,
    )
  }
  if (error.code === 'EACCES')
    return failed(
      `This user is not allowed to use port ${port} (${what}).`,
      `Choose a port above 1023 with ${setting}, or grant CAP_NET_BIND_SERVICE.`,
    )
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return failed(
      `This machine does not have the address in KINORA_HOST (${config.host}).`,
      'Correct KINORA_HOST: 0.0.0.0 listens on every interface.',
    )
  return failed(
    `Port ${port} (${what}) cannot be used: ${error.message}.`,
    `Correct KINORA_HOST or ${setting}.`,
  )
}

/** Listens for a moment, unless the port is in use. */
function tryListen(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', resolve)
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}
