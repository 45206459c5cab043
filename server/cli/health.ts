import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Config } from '../config.ts'
import { findRunningService, listeningUrl } from '../lib/running-services.ts'
import { readConfig } from '../read-config.ts'
import { command } from './command.ts'
import { CommandError } from './errors.ts'

/** A busy machine may need seconds. Whoever runs the check has a limit of their own. */
const timeoutMs = 25_000

type Health = { status?: unknown; database?: unknown; files?: unknown }

export const healthCommand = command({
  name: 'health',
  summary: 'Check that the service on this machine is ready',
  operands: [],
  options: {
    alive: { type: 'boolean', meaning: 'Check only that the process responds, not its database and files' },
  },
  details: [
    'For health checks of containers and service managers. It uses the settings of the service, works for every role, and accepts any certificate. The exit code is 0 if the service is ready, and 1 if it is not.',
  ],
  examples: ['kinora health', 'kinora health --alive'],
  json: '`{"status", "database", "files"}`, or `{"status"}` with `--alive`',
  async run({ options: { alive }, output }) {
    const url = `${await findLocalUrl(readConfig(process.env))}${alive ? '/healthz' : '/readyz'}`
    const health = await fetchHealth(url)
    if (health.status === 'alive' || health.status === 'ready')
      return output.print(`The service is ${health.status}.`, health)
    const unreachable = [
      health.database === 'unreachable' && 'its database',
      health.files === 'unreachable' && 'its file store',
    ].filter(Boolean)
    if (unreachable.length === 0) throw new CommandError(`${url} is not a service of Kinora.`)
    throw new CommandError(`The service is not ready: it cannot reach ${unreachable.join(' and ')}.`)
  },
})

/** The URL of the process that has these settings. Unlike the one for clients, it may not match the certificate. */
async function findLocalUrl(config: Config): Promise<string> {
  if (config.port !== 0) return listeningUrl(config)
  const { url } = await findRunningService(config.dataDir)
  if (!url) throw new CommandError(`No service is running on ${config.dataDir}, or it has no role api.`)
  return url
}

/** The certificate is not checked: it may be self-signed, and it is for the public name. Nothing secret is sent. */
function fetchHealth(url: string): Promise<Health> {
  const request = url.startsWith('https:') ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => reject(new CommandError(`${url} does not respond: ${reason}.`))
    const signal = AbortSignal.timeout(timeoutMs)
    request(url, { rejectUnauthorized: false, signal }, async (response) => {
      try {
        const chunks = await response.toArray()
        resolve(JSON.parse(Buffer.concat(chunks).toString()))
      } catch {
        fail('the response is not that of a service of Kinora')
      }
    })
      .on('error', (error) =>
        fail(signal.aborted ? `no response within ${timeoutMs / 1000} s` : error.message),
      )
      .end()
  })
}
