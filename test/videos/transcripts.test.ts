import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import {
  assertProblem,
  call,
  kinora,
  productionKey,
  query,
  runKinora,
  type Service,
  sandboxKey,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { client } from '../support/published-client.ts'
import { createWebhook, startReceiver } from '../support/receiver.ts'
import {
  answerSummary,
  answerWords,
  cachingFfmpeg,
  completion,
  copyEncoding,
  makeSpeech,
  sendJson,
  startChatServer,
  startSpeechServer,
  summary,
} from '../support/speech.ts'
import { createVideo, uploadVideo, videoStatus, waitForEncoding } from '../support/videos.ts'

let service: Service
let speech: Awaited<ReturnType<typeof startSpeechServer>>
let chat: Awaited<ReturnType<typeof startChatServer>>
/** Encoded videos: 13 and 3 s with one word per second, and 3 s of silence. */
let long: string
let short: string
let silent: string
const ends: (() => unknown)[] = []
const cleanup = { after: (end: () => unknown) => ends.push(end) }

before(async () => {
  const folder = await temporaryFolder(cleanup)
  speech = await startSpeechServer(cleanup)
  chat = await startChatServer(cleanup)
  service = await kinora(cleanup, {
    KINORA_RESTORE_DAYS: '0',
    KINORA_FFMPEG: await cachingFfmpeg(folder),
    KINORA_TRANSCRIPTION_URL: speech.url,
    KINORA_TRANSCRIPTION_KEY: 'speech-key',
    KINORA_TRANSCRIPTION_MODEL: 'tiny',
    KINORA_TRANSCRIPTION_PIECE_SECONDS: '5',
    KINORA_SUMMARY_URL: chat.url,
    KINORA_SUMMARY_KEY: 'chat-key',
    KINORA_SUMMARY_MODEL: 'small',
    KINORA_SUMMARY_MAX_CHARACTERS: '1000',
    KINORA_ALLOW_PRIVATE_NETWORKS: 'true',
  })
  const file = (name: string) => join(folder, name)
  await makeSpeech(file('long.mp4'), 13)
  await makeSpeech(file('short.mp4'), 3)
  await makeSpeech(file('silent.mp4'), 3, 0)
  const upload = (name: string) => uploadVideo(service, file(name), { mp4Support: false })
  long = await upload('long.mp4')
  short = await upload('short.mp4')
  silent = await upload('silent.mp4')
  for (const videoId of [long, short, silent]) await waitForEncoding(service, videoId)
})
beforeEach(async () => {
  const encoded = [long, short, silent]
  await query(service.database, 'delete from videos where id <> all($1)', [encoded])
  speech.answer = answerWords()
  speech.requests.length = 0
  chat.answer = answerSummary
  chat.requests.length = 0
})
after(async () => {
  for (const end of ends) await end()
})

/** Creates a video with the content of an encoded one. */
async function createEncoded(json: object, content = short): Promise<string> {
  const videoId = await createVideo(service, json)
  await copyEncoding(service, content, videoId)
  return videoId
}

const patch = (videoId: string, json: object) =>
  call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json })

const transcriptOf = async (videoId: string) => (await videoStatus(service, videoId)).transcript

/** Lets waiting work and retries begin at once. */
const hurry = () =>
  query(
    service.database,
    `update transcripts set next_at = now() where lease_owner is null;
     update summaries set next_at = now() where lease_owner is null;
     select pg_notify('kinora_transcription', '')`,
  )

async function waitForTranscript(videoId: string, status: string) {
  let found: { status?: string } | undefined
  await waitFor(
    async () => {
      await hurry()
      found = await transcriptOf(videoId)
      return found?.status === status
    },
    () => JSON.stringify(found),
  )
  return found as { status: string; language: string | null; progress: number; failure?: string }
}

const rowOf = async (videoId: string) =>
  (await query(service.database, 'select * from transcripts where video_id = $1', [videoId]))[0]

const captionOf = async (videoId: string, language = 'en'): Promise<string> =>
  (
    await query(service.database, 'select content from text_tracks where video_id = $1 and language = $2', [
      videoId,
      language,
    ])
  )[0]?.content

const eventsOf = async (videoId: string) =>
  (await call(`${service.url}/events?videoId=${videoId}`)).body.data.map(
    ({ payload }: { payload: object }) => payload,
  )

/** The cues of a WebVTT file. */
const cuesIn = (vtt: string) =>
  [...vtt.matchAll(/^(\d\d):(\d\d):([\d.]+) --> (\d\d):(\d\d):([\d.]+)\n(.+)$/gm)].map(
    ([, h, m, s, toH, toM, toS, text]) => ({
      from: Number(h) * 3_600 + Number(m) * 60 + Number(s),
      to: Number(toH) * 3_600 + Number(toM) * 60 + Number(toS),
      text: text!,
    }),
  )

/** Checks that the caption has each word once, at its time. */
function assertWords(vtt: string, count = 3) {
  const heard = cuesIn(vtt).flatMap(({ from, to, text }) => {
    const words = text.split(' ')
    return words.map((word, i) => ({ word, at: from + ((to - from) * i) / words.length }))
  })
  assert.deepEqual(
    heard.map(({ word }) => word),
    Array.from({ length: count }, (_, i) => `w${i}`),
    vtt,
  )
  for (const [i, { at }] of heard.entries()) assert.ok(Math.abs(at - i) < 0.5, `w${i} at ${at}`)
}

describe('a transcript', () => {
  test('becomes a caption with every word at its time, and an event', async (t) => {
    const receiver = await startReceiver(t)
    await createWebhook(service.url, `${receiver.url}/captions`, ['video.caption.generated'])
    const videoId = await createEncoded({ transcript: true }, long)
    const status = await waitForTranscript(videoId, 'completed')
    assert.deepEqual(status, { status: 'completed', language: 'en', progress: 100 })
    const caption = await client(service.url).captions.get(videoId, 'en')
    assert.equal(caption.languageName, 'English')
    assertWords(await (await fetch(caption.src!)).text(), 13)
    await assertPieces(videoId)

    const { language, languageOrigin } = await client(service.url).videos.get(videoId)
    assert.deepEqual({ language, languageOrigin }, { language: 'en', languageOrigin: 'auto' })

    const [{ emittedAt, captionId, ...event }, ...more] = await eventsOf(videoId)
    assert.deepEqual(more, [])
    const expected = {
      type: 'video.caption.generated',
      videoId,
      generationMode: 'transcript',
      language: 'en',
    }
    assert.deepEqual(event, expected)
    assert.match(captionId, /^caption_\w{22}$/)
    const [received] = await receiver.waitForRequests('/captions', 1)
    assert.deepEqual(JSON.parse(received!.body), { ...expected, emittedAt, captionId })
  })

  /** Checks that the pieces end in pauses, cover all audio once, and were sent in order. */
  async function assertPieces(videoId: string): Promise<void> {
    const pieces = await query(
      service.database,
      'select from_ms, to_ms, is_last from transcript_pieces where video_id = $1 order by from_ms',
      [videoId],
    )
    assert.ok(pieces.length >= 3)
    for (const [i, { from_ms, to_ms, is_last }] of pieces.entries()) {
      assert.equal(from_ms, i === 0 ? 0 : pieces[i - 1].to_ms)
      assert.ok(to_ms - from_ms <= 5_000)
      assert.equal(is_last, i === pieces.length - 1)
      const intoSecond = (to_ms % 1_000) / 1_000
      const isInPause = intoSecond > 0.62 && intoSecond < 0.98
      if (!is_last) assert.ok(isInPause, `a piece ends in a word, at ${to_ms} ms`)
    }
    assert.ok(Math.abs(pieces.at(-1).to_ms - 13_000) < 50)
    assert.deepEqual(
      speech.requests.map(({ seconds }) => Math.round(1_000 * seconds)),
      pieces.map(({ from_ms, to_ms }) => to_ms - from_ms),
    )
    for (const [i, { headers, fields }] of speech.requests.entries()) {
      assert.equal(headers.authorization, 'Bearer speech-key')
      const expected = { response_format: 'verbose_json', model: 'tiny' }
      // The language that the first piece is in is used for the others.
      assert.deepEqual(fields, i === 0 ? expected : { ...expected, language: 'en' })
    }
  }

  test('uses the language of the video, whatever the server detects', async () => {
    const videoId = await createEncoded({ transcript: true, language: 'fr' })
    assert.equal((await waitForTranscript(videoId, 'completed')).language, 'fr')
    assert.ok(speech.requests.every(({ fields }) => fields.language === 'fr'))
    assertWords(await captionOf(videoId, 'fr'))
    const { language, languageOrigin } = await client(service.url).videos.get(videoId)
    assert.deepEqual({ language, languageOrigin }, { language: 'fr', languageOrigin: 'api' })
  })

  test('can be requested for an encoded video, and again without effect', async () => {
    const videoId = await createEncoded({ title: 'Film' })
    assert.equal(await transcriptOf(videoId), null)
    const video = await client(service.url).videos.update(videoId, { transcript: true })
    assert.equal(video.title, 'Film')
    await waitForTranscript(videoId, 'completed')
    const requests = speech.requests.length
    assert.equal((await patch(videoId, { transcript: true })).status, 200)
    assert.equal((await transcriptOf(videoId)).status, 'completed')
    assert.equal(speech.requests.length, requests)
    assert.equal((await eventsOf(videoId)).length, 1)
  })

  test('is made into a caption again after the caption was deleted, without another recognition', async () => {
    const videoId = await createEncoded({ transcript: true })
    await waitForTranscript(videoId, 'completed')
    const requests = speech.requests.length
    await query(service.database, 'delete from text_tracks where video_id = $1', [videoId])
    await patch(videoId, { transcript: true })
    await waitForTranscript(videoId, 'completed')
    assertWords(await captionOf(videoId))
    assert.equal(speech.requests.length, requests)
  })

  test('is recognized again in another language', async () => {
    const videoId = await createEncoded({ transcript: true })
    await waitForTranscript(videoId, 'completed')
    await patch(videoId, { transcript: true, language: 'de' })
    await waitFor(async () => (await transcriptOf(videoId)).language === 'de')
    await waitForTranscript(videoId, 'completed')
    assertWords(await captionOf(videoId, 'de'))
    assert.equal((await client(service.url).videos.get(videoId)).languageOrigin, 'api')
  })

  test('does not replace a caption that was uploaded', async () => {
    const videoId = await createVideo(service, { transcript: true })
    await query(
      service.database,
      `insert into text_tracks (video_id, kind, language, id, content)
       values ($1, 'captions', 'en', 'caption_x', 'WEBVTT')`,
      [videoId],
    )
    await copyEncoding(service, short, videoId)
    await waitForTranscript(videoId, 'completed')
    assert.equal(await captionOf(videoId), 'WEBVTT')
    assert.deepEqual(await eventsOf(videoId), [])
  })

  test('waits for the encoding', async () => {
    const videoId = await createVideo(service, { transcript: true })
    assert.deepEqual(await transcriptOf(videoId), { status: 'waiting', language: null, progress: 0 })
    assert.equal(speech.requests.length, 0)
  })
})

describe('a video without usable speech', () => {
  test('is unprocessable, and the server is not asked', async () => {
    const quiet = await createEncoded({ transcript: true }, silent)
    assert.match((await waitForTranscript(quiet, 'unprocessable')).failure!, /contains no speech/)
    const mute = await createVideo(service, { transcript: true })
    await copyEncoding(service, short, mute, { hasSound: false })
    assert.match((await waitForTranscript(mute, 'unprocessable')).failure!, /has no audio/)
    assert.equal(speech.requests.length, 0)
    assert.deepEqual([await eventsOf(quiet), await eventsOf(mute)], [[], []])
  })

  test('in which the server hears nothing is unprocessable', async () => {
    speech.answer = (_, response) => sendJson(response, { text: '', segments: [] })
    const videoId = await createEncoded({ transcript: true })
    assert.match((await waitForTranscript(videoId, 'unprocessable')).failure!, /contains no speech/)
  })

  test('in a language that is not supported is unprocessable, until the language is set', async () => {
    speech.answer = answerWords(undefined, 'klingon')
    const videoId = await createEncoded({ transcript: true })
    assert.match((await waitForTranscript(videoId, 'unprocessable')).failure!, /"klingon" is not supported/)
    // The first piece is enough to know it.
    assert.equal(speech.requests.length, 1)
    await patch(videoId, { transcript: true, language: 'en' })
    await waitForTranscript(videoId, 'completed')
    assertWords(await captionOf(videoId))
  })

  test('whose audio the file store has lost is unprocessable', async () => {
    const videoId = await createEncoded({})
    const change = `update segments set key = key || '-lost' where video_id = $1 and rendition = 'sound'`
    await query(service.database, change, [videoId])
    await patch(videoId, { transcript: true })
    assert.match(
      (await waitForTranscript(videoId, 'unprocessable')).failure!,
      /audio of the video is missing/,
    )
  })

  test('whose source cannot be fetched is unprocessable', async () => {
    const { body } = await call(`${service.url}/videos`, {
      method: 'POST',
      json: { source: 'http://127.0.0.1:22/film.mp4', transcript: true },
    })
    assert.match((await waitForTranscript(body.videoId, 'unprocessable')).failure!, /could not be encoded/)
  })
})

describe('a server that fails', () => {
  test('is asked again, whatever is wrong with its answer', async () => {
    const failures: (typeof speech.answer)[] = [
      (_, response) => response.writeHead(500).end('oops'),
      (_, response) => response.destroy(),
      (_, response) => response.end('<html>'),
      (_, response) => void response.writeHead(200, { 'content-length': 99 }).destroy(),
      (_, response) => sendJson(response, { segments: [{ start: 900, end: 901, text: 'late' }] }),
      sendForever,
    ]
    speech.answer = (request, response) =>
      (failures[speech.requests.length - 1] ?? answerWords())(request, response)
    const videoId = await createEncoded({ transcript: true })
    await waitForTranscript(videoId, 'completed')
    assert.equal(speech.requests.length, failures.length + 1)
    assertWords(await captionOf(videoId))
  })

  const sendForever: typeof speech.answer = (_, response) => {
    const block = Buffer.alloc(1024 * 1024, ' ')
    const write = () => {
      while (!response.destroyed && response.write(block)) {}
    }
    response.on('drain', write)
    write()
  }

  test('and sends Retry-After is left alone for that time', async () => {
    speech.answer = (_, response) => response.writeHead(429, { 'retry-after': '1800' }).end()
    const videoId = await createEncoded({ transcript: true })
    await waitFor(async () => (await rowOf(videoId)).attempts === 1)
    const [{ waits }] = await query(
      service.database,
      `select next_at > now() + interval '10 minutes' as waits from transcripts where video_id = $1`,
      [videoId],
    )
    assert.equal(waits, true)
  })

  test('eight times makes the transcript fail, and a retry continues after the last piece', async () => {
    const videoId = await createEncoded({ transcript: true }, long)
    speech.answer = (request, response) =>
      speech.requests.length === 1 ? answerWords()(request, response) : response.writeHead(503).end()
    const { failure, progress } = await waitForTranscript(videoId, 'failed')
    assert.match(failure!, /speech recognition server responded with status 503/)
    assert.ok(progress > 20 && progress < 50, `${progress} %`)
    // One piece succeeded, the next one was tried eight times.
    assert.equal(speech.requests.length, 9)
    assert.equal(await captionOf(videoId), undefined)

    speech.answer = answerWords()
    await patch(videoId, { transcript: true })
    await waitForTranscript(videoId, 'completed')
    assertWords(await captionOf(videoId), 13)
    assert.ok(speech.requests.slice(9).every(({ words }) => !words.some(({ word }) => word === 0)))
    assert.equal((await eventsOf(videoId)).length, 1)
  })

  for (const [status, reason] of [
    [401, /rejected the API key/],
    [413, /too large/],
    [404, /with status 404/],
    [307, /with status 307/],
  ] as const)
    test(`with ${status} is not asked again`, async () => {
      speech.answer = (_, response) => response.writeHead(status, { location: chat.url }).end()
      const videoId = await createEncoded({ transcript: true })
      assert.match((await waitForTranscript(videoId, 'failed')).failure!, reason)
      assert.equal(speech.requests.length, 1)
      assert.equal(chat.requests.length, 0)
    })

  test('because its model knows no times is not asked again, and the reason says so', async () => {
    speech.answer = (_, response) => sendJson(response, { text: 'w0 w1' })
    const videoId = await createEncoded({ transcript: true })
    assert.match((await waitForTranscript(videoId, 'failed')).failure!, /without times/)
    assert.equal(speech.requests.length, 1)
  })
})

test('kinora videos transcribe requests a transcript, and kinora videos status shows it', async () => {
  const run = (...args: string[]) =>
    runKinora(['videos', ...args], { KINORA_URL: service.url, KINORA_KEY: productionKey })
  const videoId = short
  const { code, stdout, stderr } = await run('transcribe', videoId, '--language', 'fr', '--summary')
  assert.equal(code, 0, stderr)
  assert.match(stdout, /will be transcribed/)
  assert.equal((await waitForTranscript(videoId, 'completed')).language, 'fr')
  assert.equal((await call(`${service.url}/summaries?videoId=${videoId}`)).body.data.length, 1)
  assert.match((await run('status', videoId)).stdout, /^transcript +█+ 100 % +completed$/m)
})

test('the transcript of a discarded video waits until the video is restored', async () => {
  const videoId = await createVideo(service, { transcriptSummary: true })
  const change = (values: string) =>
    query(service.database, `update all_videos set ${values} where id = $1`, [videoId])
  await change(`discarded_at = now(), deletes_at = now() + interval '1 day'`)
  await copyEncoding(service, short, videoId)
  assert.deepEqual((await call(`${service.url}/summaries?videoId=${videoId}`)).body.data, [])
  // Workers that look for work now find this one, but not that of the discarded video.
  await waitForTranscript(await createEncoded({ transcript: true }), 'completed')
  assert.equal(speech.requests.length, 1)
  await change('discarded_at = null, deletes_at = null')
  await waitForTranscript(videoId, 'completed')
  assert.equal((await call(`${service.url}/summaries?videoId=${videoId}`)).body.data.length, 1)
})

test('deleting a video stops its transcript and leaves nothing', async () => {
  const waiting = Promise.withResolvers<void>()
  speech.answer = () => waiting.resolve()
  const videoId = await createEncoded({ transcript: true, transcriptSummary: true })
  await waiting.promise
  assert.equal((await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })).status, 204)
  // The request is canceled with the next renewal of the lease.
  await speech.requests[0]!.closed
  for (const table of ['transcripts', 'transcript_pieces', 'summaries', 'text_tracks'])
    assert.deepEqual(await query(service.database, `select from ${table} where video_id = $1`, [videoId]), [])
  assert.deepEqual(await eventsOf(videoId), [])
})

describe('a generated summary', () => {
  /** Each second is a phrase of 80 words. */
  const longText = (word: number) => Array.from({ length: 28 }, (_, i) => `Word ${i} of ${word}`).join(', ')
  const api = () => client(service.url).summaries

  /** A video whose transcript is complete. */
  async function transcribed(text: string): Promise<string> {
    const videoId = await createVideo(service)
    const phrases = JSON.stringify([{ fromMs: 0, toMs: 1_000, text }])
    await query(
      service.database,
      `insert into transcripts (video_id, environment, state, language, duration_ms)
       values ($1, 'production', 'completed', 'en', 1000)`,
      [videoId],
    )
    await query(service.database, `insert into transcript_pieces values ($1, 0, 1000, true, $2)`, [
      videoId,
      phrases,
    ])
    return videoId
  }
  const words = (count: number) => Array.from({ length: count }, (_, i) => `word${i}`).join(' ')

  async function waitForSummary(videoId: string, sourceStatus: string) {
    let found: { summaryId?: string; sourceStatus?: string; failure?: string } | undefined
    await waitFor(
      async () => {
        await hurry()
        found = (await call(`${service.url}/summaries?videoId=${videoId}`)).body.data[0]
        return found?.sourceStatus === sourceStatus
      },
      () => JSON.stringify(found),
    )
    return found as { summaryId: string; failure?: string }
  }

  test('is requested with the video and made from its transcript, with an event', async () => {
    const listed = Promise.withResolvers<void>()
    speech.answer = async (request, response) => {
      await listed.promise
      answerWords(longText)(request, response)
    }
    const videoId = await createEncoded({
      transcriptSummary: true,
      transcriptSummaryAttributes: ['takeaways'],
    })
    const list = await api().list({ videoId })
    listed.resolve()
    assert.equal(list.data[0]!.sourceStatus, 'waiting')
    assert.equal(list.data[0]!.origin, 'auto')
    const { summaryId } = await waitForSummary(videoId, 'completed')
    const source = await api().getSummarySource(summaryId)
    assert.deepEqual([source._abstract, source.takeaways], ['', summary.takeaways])
    const events = await eventsOf(videoId)
    const event = events.find(({ type }: { type: string }) => type === 'video.summary.generated')
    assert.deepEqual(event, { type: event.type, emittedAt: event.emittedAt, videoId, summaryId })
    assert.equal(events.length, 2)
    // The transcript does not fit into one request, so it was summarized in parts.
    assert.ok(chat.requests.length >= 3)
    const [first, ...rest] = chat.requests
    assert.equal(first!.headers.authorization, 'Bearer chat-key')
    assert.equal(first!.body.model, 'small')
    for (const { body } of [first!, ...rest]) assert.ok(body.messages[1]!.content.length <= 1_000)
    assert.match(first!.body.messages[1]!.content, /Word 0 of 0/)
    assert.match(rest.at(-1)!.body.messages[1]!.content, /^Notes\./)
  })

  test('is requested for a transcribed video, and a second request is a conflict', async () => {
    const videoId = await transcribed(words(60))
    const { summaryId, sourceStatus } = await api().create({ videoId, origin: 'auto' })
    assert.equal(sourceStatus, 'waiting')
    const again = () =>
      call(`${service.url}/summaries`, { method: 'POST', json: { videoId, origin: 'auto' } })
    assertProblem(await again(), 409, 'summary-already-exists', 'videoId')
    await waitForSummary(videoId, 'completed')
    assertProblem(await again(), 409, 'summary-already-exists', 'videoId')
    const source = await api().getSummarySource(summaryId!)
    assert.deepEqual([source._abstract, source.takeaways], [summary.abstract, summary.takeaways])
    assert.equal(chat.requests.length, 1)
    assert.equal((await eventsOf(videoId)).length, 1)
  })

  test('cannot be changed while it is generated, but afterwards', async () => {
    const waiting = Promise.withResolvers<() => void>()
    chat.answer = (request, response) => waiting.resolve(() => answerSummary(request, response))
    const videoId = await transcribed(words(60))
    const { summaryId } = await api().create({ videoId, origin: 'auto' })
    const answer = await waiting.promise
    const change = () =>
      call(`${service.url}/summaries/${summaryId}/source`, { method: 'PATCH', json: { abstract: 'Mine' } })
    assertProblem(await change(), 409, 'summary-in-progress', 'summaryId')
    answer()
    await waitForSummary(videoId, 'completed')
    const { status, body } = await change()
    assert.equal(status, 201)
    assert.deepEqual(body, { abstract: 'Mine', takeaways: summary.takeaways })
  })

  test('that is deleted while it is generated stays deleted', async () => {
    const waiting = Promise.withResolvers<void>()
    chat.answer = () => waiting.resolve()
    const videoId = await transcribed(words(60))
    const { summaryId } = await api().create({ videoId, origin: 'auto' })
    await waiting.promise
    await api().delete(summaryId!)
    await chat.requests[0]!.closed
    assert.deepEqual((await api().list({ videoId })).data, [])
    assert.deepEqual(await eventsOf(videoId), [])
  })

  test('needs 50 words and a transcript', async () => {
    const short = await transcribed(words(49))
    await api().create({ videoId: short, origin: 'auto' })
    assert.match((await waitForSummary(short, 'unprocessable')).failure!, /fewer than 50 words/)
    const quiet = await createEncoded({ transcriptSummary: true }, silent)
    assert.match((await waitForSummary(quiet, 'unprocessable')).failure!, /contains no speech/)
    speech.answer = (_, response) => response.writeHead(401).end()
    const failing = await createEncoded({ transcriptSummary: true })
    assert.match((await waitForSummary(failing, 'failed')).failure!, /API key/)
    assert.equal(chat.requests.length, 0)
  })

  test('that fails can be requested again', async () => {
    const videoId = await transcribed(words(60))
    chat.answer = (_, response) => response.writeHead(400).end()
    const { summaryId } = await api().create({ videoId, origin: 'auto' })
    assert.match((await waitForSummary(videoId, 'failed')).failure!, /status 400/)
    chat.answer = answerSummary
    const again = await api().create({ videoId, origin: 'auto', attributes: ['abstract'] })
    assert.equal(again.summaryId, summaryId)
    await waitForSummary(videoId, 'completed')
    const source = await api().getSummarySource(summaryId!)
    assert.deepEqual([source._abstract, source.takeaways], [summary.abstract, []])
  })

  test('is retried when the answer is unusable, and fails with a reason in the end', async () => {
    const answers = ['', 'null', '{"choices": []}', JSON.stringify(completion('Sorry, I cannot do that.'))]
    chat.answer = (_, response) => response.end(answers[chat.requests.length % answers.length])
    const videoId = await transcribed(words(60))
    await api().create({ videoId, origin: 'auto' })
    assert.match((await waitForSummary(videoId, 'failed')).failure!, /response that cannot be used/)
    assert.equal(chat.requests.length, 8)
    assert.deepEqual(await eventsOf(videoId), [])
  })
})

test('the key of the other environment sees no transcript and no summary', async () => {
  const videoId = await createVideo(service, { title: 'Film', transcriptSummary: true })
  const [{ summaryId }] = (await call(`${service.url}/summaries?videoId=${videoId}`)).body.data
  const other = (method: string, path: string, json?: object) =>
    call(service.url + path, { method, key: sandboxKey, ...(json && { json }) })
  assert.deepEqual((await other('GET', '/summaries')).body.data, [])
  assertProblem(await other('GET', `/videos/${videoId}/status`), 404, 'resource-not-found', 'videoId')
  assertProblem(
    await other('PATCH', `/videos/${videoId}`, { transcript: true }),
    404,
    'resource-not-found',
    'videoId',
  )
  assertProblem(await other('POST', '/summaries', { videoId }), 404, 'resource-not-found', 'videoId')
  const source = `/summaries/${summaryId}/source`
  assertProblem(await other('GET', source), 404, 'resource-not-found', 'summaryId')
  assertProblem(await other('PATCH', source, { abstract: 'x' }), 404, 'resource-not-found', 'summaryId')
  assertProblem(await other('DELETE', `/summaries/${summaryId}`), 404, 'resource-not-found', 'summaryId')
  assert.equal((await call(`${service.url}/summaries?videoId=${videoId}`)).body.data.length, 1)
})
