import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import { localUrl } from '../../lib/running-services.ts'
import { listenError } from '../../lib/start-error.ts'
import type { TlsCertificate } from '../../lib/tls-certificate.ts'
import { LadderBudget } from '../output/ladder/budget.ts'
import { Ingest, type IngestContext } from './ingest.ts'
import type { WhipServer } from './whip/server.ts'

type StartContext = Omit<IngestContext, 'budget'> & {
  tls: TlsCertificate | undefined
  /** Where the HTTP server of this process listens. */
  address: AddressInfo
}

export type RunningIngest = {
  ports: { rtmp: number; rtmps: number | undefined; srt: number; webrtc: number | undefined }
  whip: WhipServer | undefined
  close(): Promise<void>
}

/** Starts the servers for encoders, once the URL is known by which other processes reach this one. */
export async function startIngest(context: StartContext): Promise<RunningIngest> {
  const { config, tls, address } = context
  const url = config.internalUrl ?? (tls ? `https://127.0.0.1:${address.port}` : localUrl(address, config))
  const ingest = new Ingest({ ...context, budget: new LadderBudget(availableParallelism()) }, url)
  try {
    const ports = await ingest.open(tls)
    return { ports, whip: ingest.whip, close: () => ingest.close() }
  } catch (error) {
    await ingest.close()
    const { port = config.rtmpPort } = error as { port?: number }
    throw listenError(error as Error, { host: config.host, port }, settingOf(config, error as Error, port))
  }
}

/** The setting of the port that an error is about. SRT and WebRTC use UDP. */
function settingOf(config: StartContext['config'], { syscall }: NodeJS.ErrnoException, port: number): string {
  if (syscall === 'bind') return port === config.webrtcPort ? 'KINORA_WEBRTC_PORT' : 'KINORA_SRT_PORT'
  if (port === config.webrtcTcpPort) return 'KINORA_WEBRTC_TCP_PORT'
  return port === config.rtmpPort ? 'KINORA_RTMP_PORT' : 'KINORA_RTMPS_PORT'
}
