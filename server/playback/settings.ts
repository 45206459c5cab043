import { InvalidValue, optional, type ReadValues, setting } from '../lib/settings.ts'

/** Returns the location with a slash at the end. */
function nginxLocation(value: string): string {
  if (!/^(?:\/[A-Za-z0-9_-]+)+\/?$/.test(value))
    throw new InvalidValue(`must be an nginx location such as /kinora-files/, not "${value}"`)
  return value.endsWith('/') ? value : `${value}/`
}

export const playbackSettings = {
  accelRedirect: setting({
    name: 'KINORA_ACCEL_REDIRECT',
    default: '',
    meaning:
      'Only behind nginx: the internal location that is an alias of the folder `files` in the data folder, such as /kinora-files/. nginx then sends the media files on disk itself (X-Accel-Redirect).',
    read: optional(nginxLocation),
  }),
}

declare module '../config.ts' {
  interface Config extends ReadValues<typeof playbackSettings> {}
}
