import assert from 'node:assert/strict'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { call, query, temporaryFolder, waitFor } from '../support/harness.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { createDeployment, type Deployment } from '../support/recovery.ts'
import {
  answerWords,
  copyEncoding,
  makeSpeech,
  type SpeechRequest,
  startSpeechServer,
} from '../support/speech.ts'
import { uploadVideo, waitForEncoding } from '../support/videos.ts'

const captionOf = async ({ database }: Deployment, videoId: string) =>
  (await query(database, 'select content from text_tracks where video_id = $1', [videoId]))[0]?.content

const wordsIn = (vtt: string) => vtt.match(/\bw\d+\b/g)

async function waitForTranscript(url: string, videoId: string, status = 'completed') {
  let found: { status?: string; failure?: string } | undefined
  await waitFor(
    async () => {
      found = (await call(`${url}/videos/${videoId}/status`)).body.transcript
      return found?.status === status
    },
    () => JSON.stringify(found),
  )
  return found
}

/** A program with the options and the output file of whisper-cli. It hears the words w0, w1 and so on, one per second. */
const whisper = (log: string) => `#!/bin/sh
echo "$*" >> '${log}'
while [ $# -gt 0 ]; do
  case "$1" in
    --language) language=$2;;
    --output-file) output=$2;;
    --file) input=$2;;
    --model) test -f "$2" || { echo "error: failed to initialize whisper context"; exit 3; };;
  esac
  shift
done
test "$language" = auto && language=en
seconds=$(( ($(wc -c < "$input") - 44) / 32000 ))
items=''
i=0
while [ $i -lt $seconds ]; do
  items="$items\${items:+,}{\\"offsets\\":{\\"from\\":$((i * 1000)),\\"to\\":$((i * 1000 + 600))},\\"text\\":\\" word\\"}"
  i=$((i + 1))
  echo "[word $i]"
done
echo "{\\"result\\":{\\"language\\":\\"$language\\"},\\"transcription\\":[$items]}" > "$output.json"
`

test('a transcript survives kill -9, and whisper-cli is an alternative to a server', async (t) => {
  const folder = await temporaryFolder(t)
  const speech = await startSpeechServer(t)
  const settings = { ...withoutThumbnails(), KINORA_TRANSCRIPTION_PIECE_SECONDS: '5' }
  const deployment = await createDeployment(t, settings)
  const clip = join(folder, 'spoken.mp4')
  await makeSpeech(clip, 13)

  // The first service is killed while the server works on the second piece.
  const first = await deployment.start({ KINORA_TRANSCRIPTION_URL: speech.url })
  const working = Promise.withResolvers<SpeechRequest>()
  speech.answer = (request, response) =>
    speech.requests.length === 2 ? working.resolve(request) : answerWords()(request, response)
  const videoId = await uploadVideo(first, clip, { mp4Support: false, transcript: true })
  await waitForEncoding(first, videoId)
  const { closed } = await working.promise
  await first.kill()
  await closed

  speech.answer = answerWords()
  await query(deployment.database, `update transcripts set lease_until = now() - interval '1 minute'`)
  const second = await deployment.start({ KINORA_TRANSCRIPTION_URL: speech.url })
  await waitForTranscript(second.url, videoId)
  const expected = Array.from({ length: 13 }, (_, i) => `w${i}`)
  assert.deepEqual(wordsIn(await captionOf(deployment, videoId)), expected)
  const heard = speech.requests.map(({ words }) => words.map(({ word }) => word).join())
  assert.equal(heard[1], heard[2], 'the piece in progress is recognized again')
  assert.equal(new Set(heard).size, heard.length - 1, 'no other piece is recognized twice')
  const events = `select from events where video_id = $1 and type = 'video.caption.generated'`
  assert.equal((await query(deployment.database, events, [videoId])).length, 1)
  await second.stop()

  const log = join(folder, 'calls')
  const [program, model] = [join(folder, 'whisper'), join(folder, 'ggml-tiny.bin')]
  await writeFile(program, whisper(log))
  await writeFile(model, '')
  await writeFile(log, '')
  await chmod(program, 0o755)
  await chmod(log, 0o666)
  const third = await deployment.start({ KINORA_WHISPER_CLI: program, KINORA_WHISPER_MODEL: model })
  const { body: local } = await call(`${third.url}/videos`, { method: 'POST', json: { transcript: true } })
  await copyEncoding(deployment, videoId, local.videoId)
  await waitForTranscript(third.url, local.videoId)
  const calls = (await readFile(log, 'utf8')).trim().split('\n')
  assert.match(calls[0]!, new RegExp(`--model ${model} --language auto --output-json`))
  assert.ok(calls.length >= 3)
  for (const each of calls.slice(1)) assert.match(each, /--language en /)
  const heardByProgram = (await captionOf(deployment, local.videoId)).match(/\bword\b/g)
  assert.ok(heardByProgram.length >= 10)

  // The program exits with 0 even if it has no result.
  await writeFile(program, '#!/bin/sh\nexit 0\n')
  const { body: broken } = await call(`${third.url}/videos`, { method: 'POST', json: { transcript: true } })
  await query(deployment.database, 'update transcripts set attempts = 7 where video_id = $1', [
    broken.videoId,
  ])
  await copyEncoding(deployment, videoId, broken.videoId)
  const { failure } = (await waitForTranscript(third.url, broken.videoId, 'failed'))!
  assert.equal(failure, 'The speech recognition program wrote no usable result.')
})
