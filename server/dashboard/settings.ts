import { InvalidValue, optional, type ReadValues, setting } from '../lib/settings.ts'

export const minPasswordLength = 8
export const maxPasswordLength = 200

/** Keyboards differ in how they write accented characters. */
export const normalizePassword = (password: string) => password.normalize('NFC')

function password(value: string): string {
  const normalized = normalizePassword(value)
  if (normalized.length < minPasswordLength || normalized.length > maxPasswordLength)
    throw new InvalidValue(`must have ${minPasswordLength} to ${maxPasswordLength} characters`)
  return normalized
}

export const dashboardSettings = {
  adminPassword: setting({
    name: 'KINORA_ADMIN_PASSWORD',
    default: '',
    meaning:
      'Password of the dashboard, at least 8 characters. If not set: the first start prints a link, and you choose the password in the dashboard.',
    read: optional(password),
  }),
}

declare module '../config.ts' {
  interface Config extends ReadValues<typeof dashboardSettings> {}
}
