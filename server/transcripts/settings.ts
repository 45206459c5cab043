import { resolve } from 'node:path'
import { UrlNotAllowedError } from '../lib/fetch/errors.ts'
import { parseTarget } from '../lib/fetch/target.ts'
import {
  duration,
  group,
  InvalidValue,
  integer,
  optional,
  type ReadValues,
  setting,
  text,
} from '../lib/settings.ts'

/** A key is sent as a header. */
function headerText(value: string): string {
  if (!/^[\x21-\x7e]{1,4096}$/.test(value))
    throw new InvalidValue('must consist of printable ASCII characters without spaces')
  return value
}

/** Checked by the client that will send the requests. */
function endpointUrl(value: string): string {
  try {
    return parseTarget(value, { allowPrivateNetworks: true }).href
  } catch (error) {
    if (!(error instanceof UrlNotAllowedError)) throw error
    throw new InvalidValue(`cannot be used: ${error.message.replace(/\.$/, '')}`)
  }
}

const endpoint = optional(endpointUrl)

export const transcriptionSettings = {
  transcription: group(
    {
      url: setting({
        name: 'KINORA_TRANSCRIPTION_URL',
        default: '',
        meaning:
          'URL of a speech recognition server with the API of OpenAI, including the path, such as http://127.0.0.1:8000/v1/audio/transcriptions. See docs/transcripts.md.',
        read: endpoint,
      }),
      key: setting({
        name: 'KINORA_TRANSCRIPTION_KEY',
        default: '',
        meaning: 'API key of the speech recognition server.',
        read: optional(headerText),
      }),
      model: setting({
        name: 'KINORA_TRANSCRIPTION_MODEL',
        default: '',
        meaning: 'Model that the speech recognition server uses. Some servers need it.',
        read: optional(text),
      }),
      whisperModel: setting({
        name: 'KINORA_WHISPER_MODEL',
        default: '',
        meaning:
          'Path of a ggml model file. Speech is then recognized on this machine by whisper-cli, the program of whisper.cpp.',
        read: optional(resolve),
      }),
      whisperCli: setting({
        name: 'KINORA_WHISPER_CLI',
        default: 'whisper-cli',
        meaning: 'Name or path of the whisper-cli program.',
        read: text,
      }),
      concurrency: setting({
        name: 'KINORA_TRANSCRIPTION_CONCURRENCY',
        default: '1',
        meaning: 'Number of pieces of audio that this process transcribes at the same time.',
        read: integer(1, 64),
      }),
      pieceMs: setting({
        name: 'KINORA_TRANSCRIPTION_PIECE_SECONDS',
        default: '600',
        meaning:
          'Maximum length of a piece of audio. A second has 32 kB, so 600 seconds stay below the usual limit of 25 MB.',
        read: duration(5, 780, 1_000),
      }),
      timeoutMs: setting({
        name: 'KINORA_TRANSCRIPTION_TIMEOUT_MINUTES',
        default: '120',
        meaning: 'How long the recognition of one piece may take before it is retried.',
        read: duration(1, 1_440, 60_000),
      }),
    },
    ({ url, whisperModel }) =>
      url !== undefined && whisperModel !== undefined
        ? 'KINORA_TRANSCRIPTION_URL and KINORA_WHISPER_MODEL cannot both be set: set one of them.'
        : undefined,
  ),
  summaries: group({
    url: setting({
      name: 'KINORA_SUMMARY_URL',
      default: '',
      meaning:
        'URL of a language model server with the API of OpenAI, including the path, such as http://127.0.0.1:11434/v1/chat/completions. It generates summaries.',
      read: endpoint,
    }),
    key: setting({
      name: 'KINORA_SUMMARY_KEY',
      default: '',
      meaning: 'API key of the language model server.',
      read: optional(headerText),
    }),
    model: setting({
      name: 'KINORA_SUMMARY_MODEL',
      default: '',
      meaning: 'Model that the language model server uses. Some servers need it.',
      read: optional(text),
    }),
    maxCharacters: setting({
      name: 'KINORA_SUMMARY_MAX_CHARACTERS',
      default: '24000',
      meaning:
        'Maximum number of characters of a transcript in one request, so that it fits into the context of the model. Longer transcripts are summarized in parts.',
      read: integer(1_000, 1_000_000),
    }),
    timeoutMs: setting({
      name: 'KINORA_SUMMARY_TIMEOUT_MINUTES',
      default: '30',
      meaning: 'How long the language model server may take for one request before it is retried.',
      read: duration(1, 1_440, 60_000),
    }),
  }),
}

declare module '../config.ts' {
  interface Config extends ReadValues<typeof transcriptionSettings> {}
}
