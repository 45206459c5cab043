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

/** One address may stand in another, as in `/oembed?url=…`; there its own punctuation is encoded. */
const [slash, start, equals] = ['(?:\\/|%2f)', '(?:[?&#]|%3f|%26|%23)', '(?:=|%3d)']
const value = '(?:(?!%26|%23)[^&#])*'
const segment = '(?:(?!%2f|%3f)[^/?])*'

// Names are bounded, so that the time does not grow with the square of a long address.
const name = '[\\w.-]{0,40}'
const brackets = '(?:\\[[^\\]=&]{0,40}\\]){0,3}'
/** Also what somebody puts there by mistake, such as an API key. */
const secretWords = 'token|avh|api_?key|password|secret|signature|credential|authorization'
const secretParameters = new RegExp(
  `(${start}${name}(?:${secretWords})${name}${brackets}${equals})${value}`,
  'gi',
)

/** The addresses of private media, of uploads by tus, and of upload tokens hold a secret as a segment. */
const secretSegments = new RegExp(
  `(${slash}(?:vod${slash}${segment}${slash}token|tus|upload-tokens)${slash})${segment}`,
  'gi',
)

/** Letters, digits, `-`, `_`, `[` and `]` mean the same when they are encoded. */
const encodedText = /%(?:2d|3\d|4[1-9a-f]|5[0-9a-bdf]|6[1-9a-f]|7[0-9a])/gi
/** Several slashes count as one. */
const repeatedSlashes = /(?<!:|%3a)(?:\/|%2f){2,}/gi

/** An address as it may be logged. */
export const withoutSecrets = (url: string) =>
  url
    .replace(encodedText, (code) => decodeURIComponent(code))
    .replace(repeatedSlashes, '/')
    .replace(secretParameters, '$1[secret]')
    .replace(secretSegments, '$1[secret]')
