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

/** A URL may contain another, as in `/oembed?url=…`. The punctuation of the inner URL is percent-encoded. */
const [slash, start, equals] = ['(?:\\/|%2f)', '(?:[?&#]|%3f|%26|%23)', '(?:=|%3d)']
const value = '(?:(?!%26|%23)[^&#])*'
const segment = '(?:(?!%2f|%3f)[^/?])*'

// Names are bounded, because matching time would otherwise grow with the square of the length of the URL.
const name = '[\\w.-]{0,40}'
const brackets = '(?:\\[[^\\]=&]{0,40}\\]){0,3}'
/** Includes parameters that someone may add by mistake, such as an API key. */
const secretWords = 'token|avh|api_?key|password|secret|signature|credential|authorization'
const secretParameters = new RegExp(
  `(${start}${name}(?:${secretWords})${name}${brackets}${equals})${value}`,
  'gi',
)

/** URLs of private media, tus uploads and upload tokens contain a secret as a path segment. */
const secretSegments = new RegExp(
  `(${slash}(?:vod${slash}${segment}${slash}token|tus|upload-tokens)${slash})${segment}`,
  'gi',
)

/** Letters, digits, `-`, `_`, `[` and `]`, which mean the same when they are percent-encoded. */
const encodedText = /%(?:2d|3\d|4[1-9a-f]|5[0-9a-bdf]|6[1-9a-f]|7[0-9a])/gi
/** The router treats repeated slashes as one. */
const repeatedSlashes = /(?<!:|%3a)(?:\/|%2f){2,}/gi

/** Removes secrets from a URL, so that it can be logged. */
export const withoutSecrets = (url: string) =>
  url
    .replace(encodedText, (code) => decodeURIComponent(code))
    .replace(repeatedSlashes, '/')
    .replace(secretParameters, '$1[secret]')
    .replace(secretSegments, '$1[secret]')
