import { createRequire } from 'node:module'
import { pino } from 'pino'
import type { PinoPretty } from 'pino-pretty'

export type Log = pino.Logger

/** Readable lines on a terminal, JSON lines otherwise. */
export function createLog(level: string, isTerminal: boolean): Log {
  const options: pino.LoggerOptions = {
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    // The last guard: secrets are not passed to the log in the first place.
    redact: {
      paths: ['*.authorization', '*.password', '*.apiKey', '*.refreshToken', '*.headers'],
      censor: '[secret]',
    },
  }
  if (!isTerminal) return pino(options)
  const { formatters: _, ...pretty } = options
  // Loaded here, because a service under systemd or in a container has no use for it.
  const format: typeof PinoPretty = createRequire(import.meta.url)('pino-pretty')
  return pino(
    pretty,
    format({
      colorize: true,
      translateTime: 'SYS:HH:MM:ss',
      ignore: 'requestId',
      singleLine: true,
      sync: true,
    }),
  )
}

const secretParameters = /([?&](?:token|avh|access_token|apiKey)=)[^&]*/gi

const secretSegments = /(\/vod\/+[^/?]*\/+token\/+)[^/?]*/i
/** The words above may be written so, and mean the same. */
const encodedLetters = /%(?:[46][1-9a-f]|[57][0-9a])/gi

/** An address as it may be logged. */
export const withoutSecrets = (url: string) =>
  url
    .replace(encodedLetters, (letter) => decodeURIComponent(letter))
    .replace(secretParameters, '$1[secret]')
    .replace(secretSegments, '$1[secret]')
