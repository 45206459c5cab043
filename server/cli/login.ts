import { readLocalKeys } from '../accounts/local-keys.ts'
import { apiKey } from '../accounts/settings.ts'
import type { Environment } from '../environments.ts'
import { findRunningService } from '../lib/running-services.ts'
import { InvalidValue } from '../lib/settings.ts'
import { readClientConfig } from '../read-config.ts'
import { callOnce, ResponseError, type Server } from './client.ts'
import { command } from './command.ts'
import { baseOf } from './connection.ts'
import { CommandError, UsageError } from './errors.ts'
import { addLogin, loginsPath, readLogins, writeLogins } from './logins.ts'
import { readSecret } from './read-secret.ts'

export const loginCommands = [
  command({
    name: 'login',
    summary: 'Store an API key, so that commands use the service at a URL',
    operands: ['[URL]'],
    options: {},
    details: [
      'Asks for the key, or reads it from stdin, and checks it. The key decides the environment. The service of this data folder needs no login. To log in to the dashboard, use "kinora login-link".',
    ],
    examples: ['kinora login https://video.example.com', 'kinora login https://video.example.com < key.txt'],
    json: '`{"url", "environment", "file"}`',
    async run({ operands: [operand], output }) {
      const { cli, dataDir } = readClientConfig(process.env)
      const wanted = operand === undefined ? cli.url : readUrl(operand)
      const url = wanted ?? (await readLogins())[0]?.url ?? (await findUrlWithoutLogin(dataDir))
      const server = serverOf(baseOf(url), output.warn)
      if (isExposed(server.url))
        output.warn(`${server.url} has no HTTPS, so others in the network can read the key.`)
      const key = readKey(
        await readSecret(`Create an API key: ${server.url}/dashboard/production/keys\nAPI key: `),
      )
      const environment = await findEnvironment({ ...server, key })
      await addLogin(server.url, environment, key)
      const file = loginsPath()
      output.print(`Logged in to ${server.url} (${environment}). The key is in ${file}.`, {
        url: server.url,
        environment,
        file,
      })
      for (const name of ['KINORA_KEY', 'KINORA_URL'].filter((each) => process.env[each]))
        output.warn(`${name} is set, and commands use it instead of this login.`)
    },
  }),
  command({
    name: 'logout',
    summary: 'Remove the stored API keys of a service',
    operands: ['[URL]'],
    options: {},
    details: ['Without a URL, the service of the last login. The keys are not revoked.'],
    examples: ['kinora logout', 'kinora logout https://video.example.com'],
    json: '`{"url"}`',
    async run({ operands: [operand], output }) {
      const logins = await readLogins()
      const url = operand === undefined ? logins[0]?.url : baseOf(readUrl(operand))
      const others = logins.filter((login) => login.url !== url)
      if (url === undefined || others.length === logins.length)
        throw new CommandError(
          url === undefined ? 'You are not logged in.' : `You are not logged in to ${url}.`,
        )
      await writeLogins(others)
      const next = others[0] ? ` Commands now use ${others[0].url} (${others[0].environment}).` : ''
      output.print(`Logged out of ${url}.${next}`, { url })
    },
  }),
  command({
    name: 'whoami',
    summary: 'Show which service, environment and key commands use',
    operands: [],
    options: {},
    callsApi: true,
    examples: ['kinora whoami'],
    json: '`{"url", "urlFrom", "environment", "keyFrom"}`',
    async run({ output, connect }) {
      const connection = await connect()
      const { url, urlFrom, keyFrom } = connection
      const environment = await findEnvironment(connection)
      const lines = [
        `Service      ${url} (from ${urlFrom})`,
        `Environment  ${environment}`,
        `API key      from ${keyFrom}`,
      ]
      output.print(lines.join('\n'), { url, urlFrom, environment, keyFrom })
    },
  }),
]

/** Accepts a host name, too: that of a service on the internet has HTTPS. */
function readUrl(text: string): string {
  const url = URL.parse(/^https?:\/\//.test(text) ? text : `https://${text}`)
  if (!url?.hostname || url.username || url.search || url.hash)
    throw new UsageError(`URL must be that of the service, such as https://video.example.com, not "${text}".`)
  return (url.origin + url.pathname).replace(/\/+$/, '')
}

const isExposed = (url: string) => {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
}

async function findUrlWithoutLogin(dataDir: string): Promise<string> {
  const { url } = await findRunningService(dataDir)
  if (url === undefined) throw new UsageError('URL is missing: login URL')
  if (await readLocalKeys(dataDir))
    throw new CommandError(
      `Commands use ${url}, which runs on ${dataDir}, without a login. For another service: login URL`,
    )
  return url
}

const serverOf = (url: string, warn: Server['warn']) => ({
  ...{ url, hasAnswered: false, warn },
  advice: 'Check the URL.',
  adviceAgainst401: 'Check the key.',
})

function readKey(text: string): string {
  try {
    return apiKey(text)
  } catch (error) {
    if (error instanceof InvalidValue) throw new UsageError(`The key ${error.message}.`)
    throw error
  }
}

/** The key decides it. URLs of the sandbox accept only keys of the sandbox. */
async function findEnvironment(server: Server): Promise<Environment> {
  const base = baseOf(server.url)
  const check = (url: string) => callOnce({ ...server, url }, 'GET', '/videos?pageSize=1')
  try {
    await check(`${base}/sandbox`)
    return 'sandbox'
  } catch (error) {
    if (!(error instanceof ResponseError && error.status === 401)) throw error
    await check(base)
    return 'production'
  }
}
