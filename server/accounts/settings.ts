import { group, InvalidValue, optional, type ReadValues, setting } from '../lib/settings.ts'

/** HTTP Basic ends the user name at the first colon, and headers contain visible ASCII only. */
export function apiKey(value: string): string {
  if (!/^[\x21-\x39\x3b-\x7e]{1,200}$/.test(value)) {
    throw new InvalidValue('must be 1 to 200 visible ASCII characters without colon or space')
  }
  return value
}

/** Viewers and anyone else can try keys, so a key that people choose must not be a word. */
const minLength = 8

function newApiKey(value: string): string {
  if (value.length < minLength)
    throw new InvalidValue(`must have at least ${minLength} characters, so that nobody can guess it`)
  return apiKey(value)
}

export const accountsSettings = {
  keys: group(
    {
      production: setting({
        name: 'KINORA_PRODUCTION_KEY',
        default: '',
        meaning: 'API key that is created in production at start, at least 8 characters.',
        read: optional(newApiKey),
      }),
      sandbox: setting({
        name: 'KINORA_SANDBOX_KEY',
        default: '',
        meaning: 'API key that is created in the sandbox at start, at least 8 characters.',
        read: optional(newApiKey),
      }),
    },
    ({ production, sandbox }) =>
      production && production === sandbox
        ? 'KINORA_PRODUCTION_KEY and KINORA_SANDBOX_KEY must differ: a key belongs to one environment.'
        : undefined,
  ),
}

declare module '../config.ts' {
  interface Config extends ReadValues<typeof accountsSettings> {}
}
