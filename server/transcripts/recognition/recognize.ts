import { randomUUID } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import type { GuardedFetch } from '../../lib/fetch/guarded-fetch.ts'
import { RunError } from '../../lib/run.ts'
import { childLimits } from '../../media/limits.ts'
import { runSandboxed } from '../../media/sandbox.ts'
import { maxAnswerBytes, ServerError, sendRequest } from '../server-request.ts'
import { type Recognized, readServerAnswer, readWhisperFile } from './answers.ts'

export type SpeechPiece = {
  wav: Buffer
  durationMs: number
  /** Null to detect the language. */
  language: string | null
}

export type Recognition = {
  config: Config['transcription']
  fetch: GuardedFetch
  /** For temporary files. */
  folder: string
  signal: AbortSignal
}

/** Recognizes speech with the server or the program that the operator has configured. */
export function recognize(recognition: Recognition, piece: SpeechPiece): Promise<Recognized> {
  return recognition.config.url === undefined
    ? runWhisper(recognition, piece)
    : askServer(recognition, recognition.config.url, piece)
}

async function askServer(
  { config, fetch, signal }: Recognition,
  url: string,
  { wav, durationMs, language }: SpeechPiece,
): Promise<Recognized> {
  const boundary = `kinora-${randomUUID()}`
  const fields = {
    response_format: 'verbose_json',
    ...(config.model !== undefined && { model: config.model }),
    ...(language !== null && { language }),
  }
  const json = await sendRequest(fetch, {
    kind: 'speech recognition',
    url,
    key: config.key,
    timeoutMs: config.timeoutMs,
    signal,
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: formOf(boundary, fields, wav),
  })
  return readServerAnswer(json, durationMs)
}

function formOf(boundary: string, fields: Record<string, string>, wav: Buffer): Buffer {
  const part = (disposition: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name=${disposition}\r\n`
  const texts = Object.entries(fields).map(([name, value]) => `${part(`"${name}"`)}\r\n${value}\r\n`)
  return Buffer.concat([
    Buffer.from(texts.join('')),
    Buffer.from(`${part('"file"; filename="audio.wav"')}Content-Type: audio/wav\r\n\r\n`),
    wav,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
}

/** The program computes all the time. One that neither computes nor prints anything for this long is stuck. */
const stallMs = 600_000

async function runWhisper(
  { config, folder, signal }: Recognition,
  { wav, durationMs, language }: SpeechPiece,
): Promise<Recognized> {
  const input = join(folder, 'piece.wav')
  const output = join(folder, 'piece')
  await writeFile(input, wav)
  const args = [
    ...['--model', config.whisperModel ?? '', '--language', language ?? 'auto'],
    ...['--output-json', '--output-file', output, '--file', input],
  ]
  // The program and its model belong to the operator, and large models need more memory than ffmpeg may use.
  const [command = '', ...rest] = childLimits([config.whisperCli, ...args], { memoryBytes: 'unlimited' })
  try {
    await runSandboxed(command, rest, {
      signal,
      priority: 19,
      limits: { idleMs: stallMs },
      onStdout: (_, reportProgress) => reportProgress(),
    })
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof RunError)) throw error
    throw new ServerError('The speech recognition program failed.', { isRetryable: true, cause: error })
  }
  return readWhisperFile(await readOutput(`${output}.json`), durationMs)
}

/** The program exits with 0 even if it does not know an option or cannot read the audio. */
async function readOutput(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile() || found.size > maxAnswerBytes)
    throw new ServerError('The speech recognition program wrote no usable result.', { isRetryable: true })
  return readFile(path, 'utf8')
}
