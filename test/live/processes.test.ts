import assert from 'node:assert/strict'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Transaction } from 'kysely'
import { openDb, openPool } from '../../server/lib/db.ts'
import { signFeedRequest } from '../../server/live/state/feed/signature.ts'
import {
  type Abandoned,
  type Claimed,
  claimBroadcast,
  insertInit,
  insertSegment,
  type Occupied,
  setAway,
  setEnded,
} from '../../server/live/state/store.ts'
import type { Tables } from '../../server/tables.ts'
import {
  call,
  createDatabase,
  type Kinora,
  productionKey,
  query,
  sandboxKey,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { type FfmpegEncoder, makeSource, RtmpEncoder, startFfmpegEncoder } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { sampleOffer } from '../support/live/offer.ts'
import { type LossyPostgres, lossyPostgres } from '../support/lossy-postgres.ts'
import { ffmpeg } from '../support/media/media.ts'

// Encoders connect to `one`, `two` or to a process of the test. All viewers are at `viewers`, which receives nothing.

let postgres: LossyPostgres
let database: string
let source: string
let env: Record<string, string>
let [one, two, viewers] = [] as unknown as [Kinora, Kinora, Kinora]

const ends: (() => unknown)[] = []
before(async () => {
  const t = { after: (end: () => unknown) => ends.unshift(end) }
  database = await createDatabase(t)
  postgres = await lossyPostgres(t, database)
  source = join(await temporaryFolder(t), 'source.flv')
  await ffmpeg(
    ...['-f', 'lavfi', '-i', 'testsrc=s=160x120:r=10', '-f', 'lavfi', '-i', 'sine=r=44100', '-t', '10'],
    ...['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '10', '-c:a', 'aac', source],
  )
  env = {
    KINORA_DATABASE_URL: postgres.url,
    KINORA_DATA_DIR: await temporaryFolder(t),
    KINORA_ROLES: 'live',
    KINORA_PRODUCTION_KEY: productionKey,
    KINORA_SANDBOX_KEY: sandboxKey,
    KINORA_LOG_LEVEL: 'info',
    // Tests that need the end of this time change the rows instead of waiting.
    KINORA_LIVE_RECONNECT_SECONDS: '3600',
  }
  const started = [env, env, { ...env, KINORA_ROLES: 'api,worker' }].map((each) => startKinora(each))
  ;[one, two, viewers] = (await Promise.all(started)) as [Kinora, Kinora, Kinora]
  for (const { stop } of [one, two, viewers]) ends.unshift(stop)
})
after(async () => {
  for (const end of ends) await end()
})

type Stream = { id: string; key: string }
type Row = { id: string; state: string; fence: number; owner_url: string; isLeased: boolean }

async function createStream(): Promise<Stream> {
  const { liveStreamId, streamKey } = await createLiveStream(viewers, { record: false })
  return { id: liveStreamId, key: streamKey }
}

async function rowOf({ id }: Stream): Promise<Row | undefined> {
  const select = 'select id, state, fence, owner_url, lease_until > now() as "isLeased" from broadcasts'
  return (await query(database, `${select} where live_stream_id = $1`, [id]))[0]
}

type SegmentRow = { sequence: number; epoch: number; fence: number; start_ms: number; end_ms: number }

const segmentsOf = async (stream: Stream): Promise<SegmentRow[]> =>
  query(
    database,
    `select sequence, epoch, s.fence, start_ms::float8, (start_ms + duration_ms)::float8 as end_ms
     from live_segments s join broadcasts b on b.id = s.broadcast_id where b.live_stream_id = $1 order by sequence`,
    [stream.id],
  )

const eventsOf = async ({ id }: Stream): Promise<string[]> =>
  (
    await query(
      database,
      `select type from events where type like 'live-stream.%' and payload->>'liveStreamId' = $1 order by type`,
      [id],
    )
  ).map(({ type }) => type)

/** Waits until viewers can watch the broadcast of this owner. Returns the URL of the folder of its best quality. */
async function visible(stream: Stream, fence = 1): Promise<string> {
  let text = ''
  await waitFor(
    async () => {
      const segments = await segmentsOf(stream)
      const response = await call(`${viewers.url}/live/${stream.id}.m3u8`, { key: '' })
      text = response.text
      return response.status === 200 && segments.at(-1)?.fence === fence
    },
    () => `${text}\n${one.output()}\n${two.output()}\n${viewers.output()}`,
  )
  return `${viewers.url}/live/${/^.*\/source\/(?=index\.m3u8)/m.exec(text)![0]}`
}

type Playlist = { text: string; segments: string[]; parts: string[]; hint: string | undefined }

function parse(text: string): Playlist {
  const all = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, value]) => value!)
  const [hint] = all(/PRELOAD-HINT:TYPE=PART,URI="([^"]+)"/g)
  return { text, segments: all(/^(\d+-\d+\.m4s)$/gm), parts: all(/EXT-X-PART:.*URI="([^"]+)"/g), hint }
}

/** The discontinuity sequence number of each segment (RFC 8216, 6.2.1). */
function discontinuityNumbers(text: string): Map<string, number> {
  let number = Number(/#EXT-X-DISCONTINUITY-SEQUENCE:(\d+)/.exec(text)?.[1] ?? 0)
  const numbers = new Map<string, number>()
  for (const line of text.split('\n')) {
    if (line === '#EXT-X-DISCONTINUITY') number++
    if (/^\d+-\d+\.m4s$/.test(line)) numbers.set(line, number)
  }
  return numbers
}

async function playlist(folder: string, directives = ''): Promise<Playlist> {
  const { status, text } = await call(`${folder}index.m3u8${directives}`, { key: '' })
  assert.equal(status, 200, text)
  return parse(text)
}

/** The directives that wait for the part which the playlist announces, if it does. */
function nextPart({ hint }: Playlist): string {
  if (hint === undefined) return ''
  const [, sequence, part] = /^(\d+)-\d+\.(\d+)\.m4s$/.exec(hint)!
  return `?_HLS_msn=${sequence}&_HLS_part=${part}`
}

/** After a takeover, viewers may get the parts of the previous epoch for a moment. */
const withParts = async (folder: string, epoch = 1) => {
  let latest = await playlist(folder)
  await waitFor(
    async () => {
      latest = await playlist(folder)
      return latest.hint?.includes(`-${epoch}.`) === true && latest.parts.length > 0
    },
    () => latest.text,
  )
  return latest
}

/** Sends the source again and again, three times as fast as in reality. */
const publish = (t: TestContext, service: Kinora, { key }: Stream) =>
  startFfmpegEncoder(t, service, key, '-readrate', '3', '-stream_loop', '-1', '-i', source)

/** Continues a broadcast whose owner is gone. A last renewal of its lease may arrive late, and encoders connect again. */
async function takeOver(t: TestContext, service: Kinora, stream: Stream): Promise<FfmpegEncoder> {
  let encoder = publish(t, service, stream)
  await waitFor(
    async () => {
      if (encoder.process.exitCode !== null) encoder = publish(t, service, stream)
      return (await rowOf(stream))!.fence === 2
    },
    () => encoder.output(),
  )
  await visible(stream, 2)
  return encoder
}

/** An encoder of the test instead of ffmpeg. */
async function takeOverWith(service: Kinora, { key }: Stream): Promise<RtmpEncoder> {
  let encoder: RtmpEncoder | undefined
  await waitFor(async () => {
    encoder = await RtmpEncoder.connect(service, key).catch(() => undefined)
    return encoder !== undefined
  })
  return encoder!
}

const bytesOf = async (url: string) => {
  const response = await fetch(url)
  assert.equal(response.status, 200, url)
  return Buffer.from(await response.arrayBuffer())
}

async function assertEnded(encoder: FfmpegEncoder): Promise<void> {
  await encoder.ended
  assert.notEqual(encoder.process.exitCode, 0, encoder.output())
}

/** The recording relies on it. Returns how many numbers are missing. */
function assertNoOverlap(segments: SegmentRow[]): number {
  let missing = 0
  for (const [i, { sequence, start_ms }] of segments.entries()) {
    const before = segments[i - 1]
    if (!before) continue
    missing += sequence - before.sequence - 1
    assert.ok(start_ms >= before.end_ms, `segment ${sequence} begins before the end of the one before`)
  }
  return missing
}

const numberOf = (name: string) => Number(name.split('-')[0])

describe('several processes', { concurrency: true }, () => {
  test('viewers of another process get the newest parts by blocking reloads, and the same bytes as in the stored segment', async (t) => {
    const stream = await createStream()
    publish(t, one, stream)
    const folder = await visible(stream)
    let latest = await withParts(folder)
    let reloads = 0
    await waitFor(async () => {
      // The part is requested before it exists, as players do.
      const [part, reloaded] = await Promise.all([
        fetch(folder + latest.hint),
        playlist(folder, nextPart(latest)),
      ])
      // The wait may end without it: on a busy machine, or because the segment ended with fewer parts.
      const isNew = part.status === 200 && reloaded.parts.includes(latest.hint!)
      if (isNew && (await part.arrayBuffer()).byteLength > 0) reloads++
      latest = reloaded.hint === undefined ? await withParts(folder) : reloaded
      return reloads >= 5
    })
    let complete = ''
    let joined = Buffer.alloc(0)
    await waitFor(async () => {
      const { parts, segments } = await withParts(folder)
      const partsOf = (name: string) => parts.filter((part) => part.startsWith(`${name.slice(0, -4)}.`))
      complete = segments.findLast((name) => partsOf(name).length > 0) ?? ''
      const found = await Promise.all(partsOf(complete).map((part) => fetch(folder + part)))
      const bytes = await Promise.all(found.map((each) => each.arrayBuffer()))
      // On a busy machine the parts may have left the memory already.
      if (complete === '' || found.some(({ status }) => status === 404)) return false
      assert.ok(found.every(({ status }) => status === 200))
      joined = Buffer.concat(bytes.map((each) => Buffer.from(each)))
      return true
    })
    const { id } = (await rowOf(stream))!
    const sequence = complete.split('-')[0]
    const file = join(env.KINORA_DATA_DIR!, `files/live/${id}/source/${sequence}-1.m4s`)
    await waitFor(async () => (await segmentsOf(stream)).some((each) => each.sequence === Number(sequence)))
    assert.ok(joined.equals(await readFile(file)))
    assert.ok(joined.equals(await bytesOf(folder + complete)))
    assert.deepEqual(await eventsOf(stream), ['live-stream.broadcast.started'])
  })

  test('viewers get playlists without parts while the owner is out of reach, and parts again afterwards', async (t) => {
    const stream = await createStream()
    publish(t, one, stream)
    await waitFor(async () => (await rowOf(stream)) !== undefined)
    const { owner_url } = (await rowOf(stream))!
    const setOwner = (url: string) =>
      query(database, 'update broadcasts set owner_url = $2 where live_stream_id = $1', [stream.id, url])
    await setOwner('http://127.0.0.1:1')
    const folder = await visible(stream)
    const plain = await playlist(folder, '?_HLS_msn=1000&_HLS_part=0')
    assert.ok(plain.segments.length > 0, plain.text)
    assert.deepEqual([plain.parts, plain.hint], [[], undefined])
    assert.doesNotMatch(plain.text, /CAN-BLOCK-RELOAD/)
    await bytesOf(folder + plain.segments.at(-1))
    const part = plain.segments.at(-1)!.replace('.m4s', '.0.m4s')
    assert.equal((await call(folder + part, { key: '' })).status, 404)
    await setOwner(owner_url)
    const { segments } = await withParts(folder)
    assert.equal(segments[0], plain.segments[0])
  })

  test('discontinuities have the same numbers in every process, also when earlier segments were deleted', async (t) => {
    const stream = await createStream()
    let folder = ''
    for (const fence of [1, 2, 3]) {
      const encoder = publish(t, one, stream)
      folder = await visible(stream, fence)
      if (fence === 3) break
      await encoder.stop()
      await waitFor(async () => (await rowOf(stream))!.state === 'away')
    }
    const numbers = discontinuityNumbers((await withParts(folder, 3)).text)
    assert.deepEqual([...new Set(numbers.values())], [0, 1, 2])
    // As after the time that viewers can rewind.
    const { id } = (await rowOf(stream))!
    await query(database, 'delete from live_segments where broadcast_id = $1 and epoch < 3', [id])
    await query(database, 'update broadcasts set owner_url = $2, fence = fence + 1 where id = $1', [
      ...[id, 'http://127.0.0.1:1'],
    ])
    let stored = new Map<string, number>()
    await waitFor(async () => {
      stored = discontinuityNumbers((await playlist(folder)).text)
      return !stored.has([...numbers.keys()][0]!)
    })
    assert.ok(stored.size > 0)
    assert.deepEqual([...new Set(stored.values())], [2])
  })

  test('the feed of a broadcast is for processes that know the secret of the service', async (t) => {
    const stream = await createStream()
    const encoder = publish(t, one, stream)
    await visible(stream)
    const { id } = (await rowOf(stream))!
    const [{ value: secret }] = (await query(database, 'select value from secrets')) as [{ value: Buffer }]
    const ask = async (authorization: string, { of = id, fence = 1, service = one } = {}) => {
      const signal = AbortSignal.timeout(60_000)
      const url = `${service.url}/internal/live/${of}/feed?fence=${fence}`
      const { status, body } = await fetch(url, { headers: { authorization }, signal })
      await body?.cancel()
      return status
    }
    const now = new Date()
    const signed = signFeedRequest(secret, { id, fence: 1 }, now)
    assert.equal(await ask(signed), 200)
    const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000)
    const refused = [
      ask(''),
      ask('Kinora'),
      ask(signed.slice(0, -1)),
      ask(`${signed}x`),
      ask(signed.replace(/\d/, (digit) => String((Number(digit) + 1) % 10))),
      ask(signFeedRequest(Buffer.alloc(32), { id, fence: 1 }, now)),
      ask(signFeedRequest(secret, { id, fence: 1 }, minutesAgo(6))),
      ask(signFeedRequest(secret, { id, fence: 1 }, minutesAgo(-6))),
      ask(signed, { of: 'brOther' }),
      ask(signed, { fence: 2 }),
      ask(signFeedRequest(secret, { id, fence: 2 }, now), { fence: 2 }),
      ask(signed, { service: two }),
      ask(signed, { service: viewers }),
    ]
    assert.deepEqual(new Set(await Promise.all(refused)), new Set([404]))
    // Ended by someone else, it has no owner and no feed any more.
    await query(database, `update broadcasts set state = 'ended', fence = 2 where id = $1`, [id])
    await assertEnded(encoder)
    assert.equal(await ask(signed), 404)
  })

  test('the owner of a broadcast is the only one, and another process continues as soon as the encoder is gone', async (t) => {
    const stream = await createStream()
    const first = publish(t, one, stream)
    const folder = await visible(stream)
    for (const service of [one, two]) await assertEnded(publish(t, service, stream))
    assert.deepEqual([(await rowOf(stream))!.state, first.process.exitCode], ['live', null])
    const before = await withParts(folder)
    await first.stop()
    await waitFor(async () => (await rowOf(stream))!.state === 'away')
    const second = publish(t, two, stream)
    await visible(stream, 2)
    const { text, segments } = await withParts(folder, 2)
    assert.equal(segments[0], before.segments[0])
    assert.equal(text.match(/#EXT-X-DISCONTINUITY$/gm)?.length, 1, text)
    assert.deepEqual(text.match(/init-\d+\.mp4/g), ['init-1.mp4', 'init-2.mp4'])
    assert.doesNotMatch(text, /#EXT-X-GAP/)
    assert.equal(assertNoOverlap(await segmentsOf(stream)), 0)
    await second.stop()
    const completed = await call(`${viewers.url}/live-streams/${stream.id}/complete`, { method: 'PUT' })
    assert.equal(completed.status, 202)
    await waitFor(async () => (await rowOf(stream))!.state === 'ended')
    assert.deepEqual(await eventsOf(stream), ['live-stream.broadcast.ended', 'live-stream.broadcast.started'])
    await waitFor(async () => /#EXT-X-ENDLIST/.test((await playlist(folder)).text))
  })

  test('the owner of a broadcast cannot write after a pause during which another process has taken over', async (t) => {
    const stream = await createStream()
    const paused = await startKinora(env)
    t.after(() => paused.kill())
    const first = publish(t, paused, stream)
    const folder = await visible(stream)
    await withParts(folder)
    paused.process.kill('SIGSTOP')
    await takeOver(t, two, stream)
    await withParts(folder, 2)
    const written = (await segmentsOf(stream)).filter(({ fence }) => fence === 1).length
    paused.process.kill('SIGCONT')
    await assertEnded(first)
    // It receives other broadcasts. If it is killed and nobody continues them in time, a worker ends them.
    const other = await createStream()
    publish(t, paused, other)
    const otherFolder = await visible(other)
    await paused.kill()
    const past = `lease_until = now() - interval '2 hours'`
    await waitFor(async () => {
      // Again and again, because a last renewal of the lease may arrive late.
      await query(database, `update broadcasts set ${past} where live_stream_id = $1`, [other.id])
      return /#EXT-X-ENDLIST/.test((await playlist(otherFolder)).text)
    })
    assert.deepEqual(await eventsOf(other), ['live-stream.broadcast.ended', 'live-stream.broadcast.started'])

    const segments = await segmentsOf(stream)
    assert.equal(segments.filter(({ fence }) => fence === 1).length, written)
    assertNoOverlap(segments)
    assert.deepEqual([(await rowOf(stream))!.state, (await rowOf(stream))!.fence], ['live', 2])
    assert.deepEqual(await eventsOf(stream), ['live-stream.broadcast.started'])
  })

  test('the owner of a broadcast can be killed: the encoder continues the broadcast at another process, and its end is announced once', async (t) => {
    const stream = await createStream()
    const killed = await startKinora(env)
    t.after(() => killed.kill())
    const first = publish(t, killed, stream)
    const folder = await visible(stream)
    const before = await withParts(folder)
    await killed.kill()
    await assertEnded(first)
    // A viewer that asks in between gets what is stored.
    const stored = await playlist(folder, nextPart(before))
    assert.equal(stored.segments[0], before.segments[0])
    const second = await takeOver(t, two, stream)
    const { text, segments } = await withParts(folder, 2)
    assert.equal(segments[0], before.segments[0])
    // The numbers of the segments that were lost are not used again, and no number is missing in the playlist.
    const numbers = segments.map(numberOf)
    assert.deepEqual(
      numbers,
      numbers.map((_, i) => numbers[0]! + i),
    )
    const isShown = (name: string) => numberOf(name) <= numberOf(before.parts.at(-1)!)
    assert.ok(!segments.some((name) => name.endsWith('-2.m4s') && isShown(name)), text)
    const gaps = text.match(/#EXT-X-GAP$/gm) ?? []
    assert.equal(gaps.length, assertNoOverlap(await segmentsOf(stream)), text)
    await second.stop()
    // The encoder does not return in time.
    const past = `away_at = now() - interval '2 hours'`
    await waitFor(async () => (await rowOf(stream))!.state === 'away')
    await query(database, `update broadcasts set ${past} where live_stream_id = $1`, [stream.id])
    await waitFor(async () => (await rowOf(stream))!.state === 'ended')
    assert.deepEqual(await eventsOf(stream), ['live-stream.broadcast.ended', 'live-stream.broadcast.started'])
  })

  test('numbers that viewers have seen are not used again if the owner is killed while the database is unavailable', async (t) => {
    const stream = await createStream()
    const frozen = await lossyPostgres(t, database)
    const owner = await startKinora({ ...env, KINORA_DATABASE_URL: frozen.url })
    t.after(() => owner.kill())
    const first = await RtmpEncoder.connect(owner, stream.key)
    const tags = makeSource()
    await first.send(tags)
    const folder = await visible(stream)
    frozen.freeze()
    await first.send(tags, 6_000)
    await first.send(makeSource({ size: '192x144', seconds: 4 }), 12_000)
    // The second epoch is shown, although nothing of it can be stored.
    const { segments: shown } = await withParts(folder, 2)
    const [stored] = (await segmentsOf(stream)).slice(-1)
    assert.ok(stored && stored.sequence + 2 < numberOf(shown.at(-1)!) && stored.epoch === 1)
    await owner.kill()
    const second = await takeOverWith(two, stream)
    await second.send(tags)
    await visible(stream, 2)
    const continued = (await segmentsOf(stream)).find(({ fence }) => fence === 2)!
    assert.ok(continued.sequence > numberOf(shown.at(-1)!), `${continued.sequence} was used before`)
    assert.ok(continued.epoch > 2, `epoch ${continued.epoch} was used before`)
    await second.close()
  })

  test('numbers are not used again if an owner is killed that reserved none, because it is of an older version', async (t) => {
    const db = openDb<Tables>(openPool(database, () => {}))
    t.after(() => db.destroy())
    const { id } = await createStream()
    const stream = { id, environment: 'production', record: false } as const
    const claim = (abandoned?: Abandoned) =>
      db.transaction().execute((trx) => claimBroadcast(trx, stream, 'http://127.0.0.1:1', abandoned))
    const { claim: first } = (await claim()) as Claimed
    const times = { start_ms: 0, duration_ms: 2_000, received_at: new Date() }
    for (const sequence of [0, 1, 2])
      await insertSegment(db, {
        broadcast_id: first.id,
        quality: 'source',
        sequence,
        epoch: 1,
        fence: first.fence,
        bytes: 1,
        ...times,
      })
    await insertInit(db, first, {
      broadcast_id: first.id,
      quality: 'source',
      epoch: 1,
      data: Buffer.from('x'),
      codecs: '',
      width: null,
      height: null,
    })
    const killed = `next_sequence = 0, next_epoch = 1, lease_until = now() - interval '1 second'`
    await query(database, `update broadcasts set ${killed} where id = $1`, [first.id])
    const occupied = (await claim()) as Occupied
    const { position } = (await claim({ ...occupied, reserved: undefined })) as Claimed
    // It may have shown two segments, and another configuration of the encoder, that it has not stored.
    assert.deepEqual(position.next, { sequence: 5, epoch: 3 })
  })

  test('a broadcast that was completed while its encoder was away is not continued', async (t) => {
    const db = openDb<Tables>(openPool(database, () => {}))
    t.after(() => db.destroy())
    const { id } = await createStream()
    const stream = { id, environment: 'production', record: false } as const
    await db.transaction().execute(async (trx) => {
      const claim = () => claimBroadcast(trx, stream, 'http://127.0.0.1:1', undefined)
      const { claim: first, position } = (await claim()) as Claimed
      await setAway(trx, first, position.next)
      await trx.updateTable('broadcasts').set({ completing: true }).where('id', '=', first.id).execute()
      assert.deepEqual(((await claim()) as Occupied).claim, first)
      assert.ok(await setEnded(trx, first))
      assert.notEqual(((await claim()) as Claimed).claim.id, first.id)
    })
  })

  test('a takeover and a write of the previous owner wait for each other', async (t) => {
    const db = openDb<Tables>(openPool(database, () => {}))
    t.after(() => db.destroy())
    const { id } = await createStream()
    const stream = { id, environment: 'production', record: false } as const
    const claim = (trx: Transaction<Tables>) => claimBroadcast(trx, stream, 'http://127.0.0.1:1', undefined)
    const claimed = async (pending: ReturnType<typeof claim>) => (await pending) as Claimed
    const first = await db.transaction().execute((trx) => claimed(claim(trx)))
    const segment = (sequence: number, fence: number) => ({
      broadcast_id: first.claim.id,
      quality: 'source',
      sequence,
      epoch: 1,
      fence,
      bytes: 1,
      start_ms: sequence * 2_000,
      duration_ms: 2_000,
      received_at: new Date(),
    })
    const waiting = async () =>
      (
        await query(
          database,
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
      ).length > 0

    // A write that has begun is finished before another process takes over, which then continues after it.
    const write = await db.startTransaction().execute()
    assert.ok(await insertSegment(write, segment(0, 1)))
    const takeover = setAway(db, first.claim, { sequence: 1, epoch: 2 }).then(() =>
      db.transaction().execute((trx) => claimed(claim(trx))),
    )
    await waitFor(waiting)
    await write.commit().execute()
    const second = await takeover
    assert.deepEqual([second.claim.fence, second.position.next], [2, { sequence: 1, epoch: 2 }])

    // A write that begins during a takeover has no effect.
    await setAway(db, second.claim, second.position.next)
    const next = await db.startTransaction().execute()
    const third = await claimed(claim(next))
    const late = insertSegment(db, segment(1, 2))
    await waitFor(waiting)
    await next.commit().execute()
    assert.deepEqual([await late, third.position.next.sequence], [false, 1])

    // An encoder waits for the previous one while its live stream is deleted.
    await query(database, 'delete from live_streams where id = $1', [id])
    assert.equal(await db.transaction().execute(claim), undefined)
  })

  test('while the file store fails, viewers get new segments from memory, and everything is stored later', async (t) => {
    const stream = await createStream()
    // The broadcasts of the other tests go on while it is paused.
    const owner = await startKinora(env)
    t.after(() => owner.kill())
    const encoder = publish(t, owner, stream)
    const folder = await visible(stream)
    const { id } = (await rowOf(stream))!
    const files = join(env.KINORA_DATA_DIR!, `files/live/${id}`)
    // Nothing may be written between the steps.
    const whilePaused = async (change: () => Promise<void>) => {
      owner.process.kill('SIGSTOP')
      await change().finally(() => owner.process.kill('SIGCONT'))
    }
    await whilePaused(async () => {
      await rename(files, `${files}-away`)
      await writeFile(files, 'not a folder')
    })
    const stored = (await segmentsOf(stream)).at(-1)!.sequence
    let latest = await withParts(folder)
    await waitFor(async () => {
      latest = await withParts(folder)
      return numberOf(latest.segments.at(-1)!) > stored + 6
    })
    for (const name of latest.segments.slice(-6)) await bytesOf(folder + name)
    assert.ok((await segmentsOf(stream)).at(-1)!.sequence <= stored + 1)
    await whilePaused(async () => {
      await rm(files)
      await rename(`${files}-away`, files)
    })
    const last = numberOf(latest.segments.at(-1)!)
    await waitFor(async () => (await segmentsOf(stream)).at(-1)!.sequence > last)
    assert.equal(assertNoOverlap(await segmentsOf(stream)), 0)
    assert.deepEqual([(await rowOf(stream))!.fence, encoder.process.exitCode], [1, null])
  })
})

// Not at the same time as the others, because these affect all broadcasts.
test('an offer reaches a process with the role live, which has the session', async () => {
  const { key } = await createStream()
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/sdp' }
  const offer = () => call(`${viewers.url}/whip`, { method: 'POST', key: '', headers, body: sampleOffer() })
  const { status, text, headers: answered } = await offer()
  assert.equal(status, 201, text)
  assert.match(text, /a=candidate:1 1 udp \d+ 127\.0\.0\.1 \d+ typ host/)
  const session = `${viewers.url}${answered.get('location')}`
  const ask = async (method: string, more: Record<string, string> = {}) =>
    (await call(session, { method, key: '', headers: more })).status
  assert.equal(await ask('PATCH'), 204, 'candidates are accepted')
  assert.equal(await ask('PATCH', { 'if-match': '*' }), 422, 'ICE is not restarted')
  assert.equal(await ask('DELETE'), 200)
  assert.equal(await ask('DELETE'), 404)
  const unsigned = await call(`${one.url}/internal/live/whip`, {
    method: 'POST',
    key: '',
    json: { action: 'find' },
  })
  assert.equal(unsigned.status, 404)
})

test('viewers and the broadcast continue while the database is unavailable, and nothing is lost', async (t) => {
  const stream = await createStream()
  const encoder = publish(t, one, stream)
  const folder = await visible(stream)
  let latest = await withParts(folder)
  const before = latest.segments.length
  postgres.stop()
  t.after(() => postgres.start())
  // Until the lease of the owner has ended, and longer. The test has its own connection to the database.
  await waitFor(
    async () => {
      latest = await playlist(folder, nextPart(latest))
      return latest.segments.length > before + 3 && !(await rowOf(stream))!.isLeased
    },
    () => viewers.output(),
  )
  const last = numberOf(latest.segments.at(-1)!)
  postgres.start()
  await waitFor(async () => ((await segmentsOf(stream)).at(-1)?.sequence ?? 0) > last)
  await waitFor(async () => (await rowOf(stream))!.isLeased)
  const { state, fence } = (await rowOf(stream))!
  assert.deepEqual([state, fence, encoder.process.exitCode], ['live', 1, null], one.output())
  assert.equal(assertNoOverlap(await segmentsOf(stream)), 0)
  await waitFor(async () => (await call(`${viewers.url}/live-streams/${stream.id}`)).status === 200)
})

test('a process that is stopped stores everything before it disconnects the encoder', async (t) => {
  const stream = await createStream()
  const first = publish(t, one, stream)
  const folder = await visible(stream)
  const before = await withParts(folder)
  const waiting = playlist(folder, nextPart(before))
  assert.equal(await one.stop(), 0)
  await assertEnded(first)
  await waiting
  assert.equal((await rowOf(stream))!.state, 'away')
  publish(t, two, stream)
  await visible(stream, 2)
  assert.equal(assertNoOverlap(await segmentsOf(stream)), 0)
  const { text, segments } = await withParts(folder, 2)
  assert.doesNotMatch(text, /#EXT-X-GAP/)
  for (const name of before.parts) assert.ok(segments.includes(name.replace(/\.\d+\.m4s$/, '.m4s')), name)
})
