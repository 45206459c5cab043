import { createHmac } from 'node:crypto'

const dayMs = 24 * 3_600_000

export const dayOf = (time: number) => Math.floor(time / dayMs)
export const startOfDay = (day: number) => new Date(day * dayMs)

/**
 * `ps`, the day in four characters, and a keyed hash of what identifies the viewing. The id is not random, so that a
 * first report that is repeated, or a second one that arrives before the client knows the id, finds the same session.
 * Without the secret, nobody can compute the id of another viewer's session.
 */
export function sessionIdOf(secret: Buffer, day: number, traits: string[]): string {
  // With the lengths, two different lists never produce the same text.
  const text = traits.map((trait) => `${trait.length} ${trait}`).join(' ')
  const digest = createHmac('sha256', secret).update(`session ${text}`).digest('hex')
  const hash = BigInt(`0x${digest.slice(0, 24)}`)
    .toString(36)
    .padStart(19, '0')
  return `ps${day.toString(36).padStart(4, '0')}${hash}`
}

/** Returns the day in a session id, or undefined if it is not a valid id. */
export function dayOfSession(id: string): number | undefined {
  return /^ps[0-9a-z]{23}$/.test(id) ? Number.parseInt(id.slice(2, 6), 36) : undefined
}

/** Distinguishes viewers without identifying them: the IP address is not stored, and the hash changes every day. */
export function viewerOf(secret: Buffer, day: number, userAgent: string, ipAddress: string): string {
  return createHmac('sha256', secret)
    .update(`viewer ${day} ${ipAddress} ${userAgent}`)
    .digest('base64url')
    .slice(0, 22)
}

/** Sessions continue into the next day, and client clocks may be a minute ahead of that. */
const maxEventDays = 3

/** The range of times in which the events of a session of this day can be. */
export const eventDays = (day: number) => [startOfDay(day), startOfDay(day + maxEventDays)] as const
