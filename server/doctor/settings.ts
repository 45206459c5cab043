import { type Check, type DoctorContext, type Finding, failed, ok, warning } from './check.ts'

export const settingsCheck: Check = {
  name: 'settings',
  ifStuck: 'Report this as a bug of Kinora.',
  async run(context) {
    const problems = context.settingsProblems.map((problem) => {
      const [message = problem, advice = 'Correct or unset it: docs/settings.md lists all settings.'] =
        problem.split(/(?<=\w): (?=correct|set|turn)/)
      return failed(asSentence(message), asSentence(advice))
    })
    const findings = [...problems, ...findDifference(context), ...findContradictions(context)]
    if (findings.length > 0) return findings
    const count = Object.keys(context.env).filter((name) => name.startsWith('KINORA_')).length
    return ok(`${count} ${count === 1 ? 'setting is' : 'settings are'} set, and all are valid.`)
  },
}

const asSentence = (text: string) => `${text[0]?.toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`

/** The settings of a service that a service manager or a container starts are not those of a shell. */
function findDifference({ config, runningPublicUrl }: DoctorContext): Finding[] {
  if (runningPublicUrl === undefined || config.publicUrl === runningPublicUrl) return []
  // Without the setting, the URL depends on the port, which the system may choose.
  if (config.publicUrl === undefined && new URL(runningPublicUrl).hostname === 'localhost') return []
  return [
    warning(
      `The running service has other settings than this command: its public URL is ${runningPublicUrl}.`,
      'Run this command with the environment of the service.',
    ),
  ]
}

/** Settings that are valid one by one, but not together. The service starts with them. */
function findContradictions({ config, publicUrl }: Pick<DoctorContext, 'config' | 'publicUrl'>): Finding[] {
  const { protocol } = new URL(publicUrl)
  const hasOwnHttps = config.tls !== undefined || config.acme !== undefined
  const isEverywhere = config.host === '0.0.0.0' || config.host === '::'
  const found: (Finding | false | undefined)[] = [
    config.tls &&
      config.publicUrl !== undefined &&
      protocol === 'http:' &&
      warning(
        'KINORA_TLS_CERT is set, so the service uses HTTPS, but KINORA_PUBLIC_URL begins with http://.',
        'Change KINORA_PUBLIC_URL to https://.',
      ),
    !hasOwnHttps &&
      protocol === 'https:' &&
      config.trustProxy.length === 0 &&
      warning(
        'KINORA_PUBLIC_URL is HTTPS and a proxy handles it, but KINORA_TRUST_PROXY is not set: all viewers seem to have the address of the proxy.',
        'Set KINORA_TRUST_PROXY to the address of the proxy, such as 127.0.0.1.',
      ),
    !hasOwnHttps &&
      protocol === 'https:' &&
      isEverywhere &&
      config.trustProxy.length > 0 &&
      warning(
        'KINORA_HOST listens on every interface without HTTPS, so that clients can bypass the proxy.',
        'Set KINORA_HOST to the address at which the proxy reaches Kinora, or close the port in the firewall.',
      ),
    config.s3 !== undefined &&
      config.accelRedirect !== undefined &&
      warning(
        'KINORA_ACCEL_REDIRECT has no effect, because the files are in an S3 store.',
        'Unset KINORA_ACCEL_REDIRECT, or use KINORA_S3_REDIRECT.',
      ),
    config.databaseUrl === undefined &&
      config.s3 !== undefined &&
      !config.roles.has('worker') &&
      warning(
        'KINORA_DATABASE_URL is not set, so this process has a database of its own, and no process with the role worker on another machine can use it.',
        'Set KINORA_DATABASE_URL to a Postgres that all machines reach.',
      ),
    config.sweep.mode === 'off' &&
      warning(
        'KINORA_SWEEP is off: orphaned files are never removed.',
        'Set KINORA_SWEEP=remove once the reason for turning it off is gone.',
      ),
  ]
  return found.filter((each) => typeof each === 'object')
}
