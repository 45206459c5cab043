import { createHmac } from 'node:crypto'

const dayMs = 24 * 3_600_000

export const dayOf = (time: number) => Math.floor(time / dayMs)
export const startOfDay = (day: number) => new Date(day * dayMs)

/**
 * `ps`, the day in four letters, and a hash of what tells one viewing from another. Not drawn by chance: a first
 * report that is sent again because its answer got lost, or a second one that overtakes that answer, finds the session
 * of the first. Nobody else can make it, for want of the secret.
 */
export function sessionIdOf(secret: Buffer, day: number, traits: string[]): string {
  // The lengths stand before them, so that no two lists run together into one text.
  const text = traits.map((trait) => `${trait.length} ${trait}`).join(' ')
  const digest = createHmac('sha256', secret).update(`session ${text}`).digest('hex')
  const word = BigInt(`0x${digest.slice(0, 24)}`)
    .toString(36)
    .padStart(19, '0')
  return `ps${day.toString(36).padStart(4, '0')}${word}`
}

/** The day that an id names; undefined for what is no id. */
export function dayOfSession(id: string): number | undefined {
  return /^ps[0-9a-z]{23}$/.test(id) ? Number.parseInt(id.slice(2, 6), 36) : undefined
}

/** Tells viewers of one day apart without knowing them: the address is not stored, and another day is another hash. */
export function viewerOf(secret: Buffer, day: number, userAgent: string, address: string): string {
  return createHmac('sha256', secret)
    .update(`viewer ${day} ${address} ${userAgent}`)
    .digest('base64url')
    .slice(0, 22)
}
