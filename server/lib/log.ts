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
    // A safety net: no caller passes secrets to the log on purpose.
    redact: {
      paths: ['*.authorization', '*.password', '*.apiKey', '*.refreshToken', '*.headers'],
      censor: '[secret]',
    },
  }
  if (!isTerminal) return pino(options)
  const { formatters: _, ...pretty } = options
  // Loaded on demand, because a service under systemd or in a container does not need it.
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
