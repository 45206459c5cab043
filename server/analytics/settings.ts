import { InvalidValue, integer, optional, type ReadValues, setting } from '../lib/settings.ts'

/** Returns the name in lower case. */
function headerName(value: string): string {
  if (!/^[A-Za-z0-9-]{1,100}$/.test(value)) throw new InvalidValue('must be the name of a header')
  return value.toLowerCase()
}

export const analyticsSettings = {
  countryHeader: setting({
    name: 'KINORA_COUNTRY_HEADER',
    default: '',
    meaning:
      'Request header in which a proxy or CDN sends the country of the viewer, such as CF-IPCountry. If not set: countries are unknown.',
    read: optional(headerName),
  }),
  /** 0: no limit. */
  analyticsDays: setting({
    name: 'KINORA_ANALYTICS_DAYS',
    default: '30',
    meaning:
      'Viewing sessions are kept for this many days. 0 keeps them forever. Sandbox sessions are kept for KINORA_SANDBOX_HOURS.',
    read: integer(0, 36_500),
  }),
}

declare module '../config.ts' {
  interface Config extends ReadValues<typeof analyticsSettings> {}
}
