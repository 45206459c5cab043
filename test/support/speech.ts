import { once } from 'node:events'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { query, type Service } from './harness.ts'
import { ffmpeg } from './media/media.ts'
import { lavfi } from './media/sources.ts'
import { withoutThumbnails } from './programs.ts'

// Audio in which each second is a word, and servers that recognize the words.

/** A word is a tone of 0.6 seconds whose frequency is its number. A pause of 0.4 seconds follows. */
const frequencyOf = (word: string) => `(400+50*${word})`
const wordAt = (frequency: number) => Math.round((frequency - 400) / 50)

/** Makes a video with one word per second: word 0, word 1 and so on. With `level` 0 it is silent. */
export function makeSpeech(path: string, seconds: number, level = 0.5) {
  const tones = `if(lt(mod(t,1),0.6),${level}*sin(2*PI*${frequencyOf('floor(t)')}*t),0)`
  return ffmpeg(
    ...lavfi(`color=gray:s=64x36:r=5:d=${seconds}`),
    ...lavfi(`aevalsrc='${tones}':d=${seconds}:s=48000`),
    ...['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac', path],
  )
}

/** An ffmpeg that decodes the same audio only once, because the tests recognize the same clips many times. */
export async function cachingFfmpeg(folder: string): Promise<string> {
  const cache = join(folder, 'decoded')
  await mkdir(cache)
  // ffmpeg runs as another user when the tests run as root.
  await chmod(cache, 0o777)
  const program = join(folder, 'caching-ffmpeg')
  const real = withoutThumbnails().KINORA_FFMPEG
  const script = `for output; do :; done
case "$output" in */audio.pcm)
  decoded='${cache}'/$(cksum < "\${output%.pcm}.mp4" | tr ' ' -)
  test -f "$decoded" && exec cp "$decoded" "$output"
  '${real}' "$@" && cp "$output" "$decoded"
  exit;;
esac
exec '${real}' "$@"`
  await writeFile(program, `#!/bin/sh\n${script}\n`)
  await chmod(program, 0o755)
  return program
}

export type Word = { word: number; start: number; end: number }

/** Recognizes the words in a WAV file by counting the zero crossings of each tone. */
function hearWords(wav: Buffer): Word[] {
  const samples = new Int16Array(wav.length / 2 - 22).map((_, i) => wav.readInt16LE(44 + 2 * i))
  const frame = 160
  const isLoud = (at: number) => samples.subarray(at, at + frame).some((sample) => Math.abs(sample) > 2_000)
  const words: Word[] = []
  for (let at = 0; at < samples.length; at += frame) {
    if (!isLoud(at)) continue
    const from = at
    while (at < samples.length && isLoud(at)) at += frame
    const tone = samples.subarray(from, at)
    const crossings = tone.filter((sample, i) => i > 0 && sample >= 0 !== tone[i - 1]! >= 0).length
    words.push({ word: wordAt((crossings * 8_000) / tone.length), start: from / 16_000, end: at / 16_000 })
  }
  return words
}

export type SpeechRequest = {
  path: string
  headers: IncomingMessage['headers']
  /** The fields of the form, without the file. */
  fields: Record<string, string>
  wav: Buffer
  seconds: number
  words: Word[]
  /** Resolves when the client has closed the connection. */
  closed: Promise<unknown>
}
type Answer<T> = (request: T, response: ServerResponse) => unknown

export const sendJson = (response: ServerResponse, body: unknown) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))

/** Answers as Whisper does. `textOf` is what each word means. */
export const answerWords =
  (textOf = (word: number) => `w${word}`, language: string | undefined = 'english'): Answer<SpeechRequest> =>
  ({ words, seconds }, response) => {
    const segments = words.map(({ word, start, end }, id) => ({ id, start, end, text: ` ${textOf(word)}` }))
    const text = segments.map((segment) => segment.text).join('')
    sendJson(response, { task: 'transcribe', language, duration: seconds, text, segments })
  }

type Cleanup = { after(end: () => unknown): void }

async function listen(t: Cleanup, handle: (request: IncomingMessage, response: ServerResponse) => unknown) {
  const server = createServer(handle).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** A speech recognition server. Tests change its answer. */
export async function startSpeechServer(t: Cleanup) {
  const server = { url: '', requests: [] as SpeechRequest[], answer: answerWords() }
  const base = await listen(t, async (request, response) => {
    const closed = once(response, 'close')
    const body = await readBody(request)
    const wavAt = body.indexOf('RIFF')
    const wav = body.subarray(wavAt, wavAt + 8 + body.readUInt32LE(wavAt + 4))
    const head = body.subarray(0, wavAt).toString()
    const fields = Object.fromEntries(
      [...head.matchAll(/name="(\w+)"\r\n\r\n(.*)\r\n/g)].map(([, name, value]) => [name, value]),
    )
    const seconds = (wav.length - 44) / 32_000
    const { url: path = '', headers } = request
    const received = { path, headers, fields, wav, seconds, words: hearWords(wav), closed }
    server.requests.push(received)
    await server.answer(received, response)
  })
  server.url = `${base}/v1/audio/transcriptions`
  return server
}

export type ChatRequest = {
  path: string
  headers: IncomingMessage['headers']
  body: { model?: string; messages: { role: string; content: string }[] }
  closed: Promise<unknown>
}

const abstract = Array.from({ length: 25 }, (_, i) => `abstract${i}`).join(' ')
export const summary = { abstract, takeaways: ['First.', 'Second.', 'Third.'] }

export const completion = (content: string) => ({ choices: [{ message: { role: 'assistant', content } }] })

/** Answers each request for a summary with one, and any other request with notes. */
export const answerSummary: Answer<ChatRequest> = ({ body }, response) =>
  sendJson(response, completion(/JSON/.test(body.messages[0]!.content) ? JSON.stringify(summary) : 'Notes.'))

/** A language model server. Tests change its answer. */
export async function startChatServer(t: Cleanup) {
  const server = { url: '', requests: [] as ChatRequest[], answer: answerSummary }
  const base = await listen(t, async (request, response) => {
    const closed = once(response, 'close')
    const body = JSON.parse((await readBody(request)).toString())
    const received = { path: request.url ?? '', headers: request.headers, body, closed }
    server.requests.push(received)
    await server.answer(received, response)
  })
  server.url = `${base}/v1/chat/completions`
  return server
}

/** Makes a video play the encoded content of another one, without encoding it again. */
export async function copyEncoding(
  { database }: Pick<Service, 'database'>,
  fromId: string,
  toId: string,
  { hasSound = true } = {},
): Promise<void> {
  const plan = hasSound ? 'plan' : `jsonb_set(plan, '{hasSound}', 'false')`
  const copy = (table: string, columns: string) =>
    `insert into ${table} (video_id, ${columns})
     select '${toId}', ${columns.replace('plan', plan)} from ${table} where video_id = '${fromId}'`
  // One transaction: a worker looks for encodings all the time.
  await query(
    database,
    [
      copy('encodings', 'environment, state, media, plan, created_at, finished_at'),
      copy('renditions', 'type, quality, height, state, key'),
      copy('initializations', 'rendition, codec, bytes'),
      copy('segments', 'rendition, first_segment, sizes, key'),
    ].join(';'),
  )
}
