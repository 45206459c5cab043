import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { suite, test } from 'node:test'
import {
  type Answer,
  assertSource,
  call,
  createDatabase,
  type Kinora,
  MiB,
  openUpload,
  productionKey,
  query,
  sendFile,
  startKinora,
  temporaryFolder,
  waitFor,
} from './harness.ts'

// kill -9 at any moment: what was answered 201 is there afterwards, and the client goes on where the status says.

const piece = 5 * MiB
const big = randomBytes(3 * piece + 4321)
const pieces = Array.from({ length: 4 }, (_, i) => big.subarray(i * piece, (i + 1) * piece))

type Place = { database: string; data: string; start(): Promise<Kinora> }

/** A database and a folder that outlive the processes. */
async function place(t: { after(end: () => unknown): void }): Promise<Place> {
  const running: Kinora[] = []
  t.after(() => Promise.all(running.map((each) => each.kill())))
  const database = await createDatabase(t)
  const data = await temporaryFolder(t)
  return {
    database,
    data,
    async start() {
      const service = await startKinora({
        KINORA_DATABASE_URL: database,
        KINORA_DATA_DIR: data,
        KINORA_PRODUCTION_KEY: productionKey,
        KINORA_LOG_LEVEL: 'warn',
      })
      running.push(service)
      return service
    },
  }
}

async function newVideo(url: string): Promise<string> {
  return (await call(`${url}/videos`, { method: 'POST', json: { title: 'Film' } })).body.videoId
}

type Form = 'parts' | 'bytes'

const rangeOf = (form: Form, i: number) =>
  form === 'parts'
    ? `part ${i + 1}/${pieces.length}`
    : `bytes ${i * piece}-${i * piece + pieces[i]!.length - 1}/${big.length}`

/** Which pieces the status lists. */
async function receivedOf(url: string, videoId: string, form: Form): Promise<Set<number>> {
  const { status, body } = await call(`${url}/videos/${videoId}/status`)
  assert.equal(status, 200)
  if (form === 'parts')
    return new Set((body.ingest?.receivedParts.parts ?? []).map((part: number) => part - 1))
  const received: { from: number; to: number }[] = body.ingest?.receivedBytes ?? []
  for (const { from, to } of received) assert.equal(to - from + 1, pieces[from / piece]!.length)
  return new Set(received.map(({ from }) => from / piece))
}

/** Sends what is missing, bit by bit, until so many bytes are out: the caller kills the service then. */
async function sendUntil(
  url: string,
  videoId: string,
  form: Form,
  budget: { bytes: number },
  acknowledged: Set<number>,
): Promise<void> {
  const received = await receivedOf(url, videoId, form)
  for (const i of acknowledged) assert.ok(received.has(i), `${form}: piece ${i} was answered 201 and is lost`)
  for (const i of pieces.keys()) {
    if (received.has(i)) continue
    const upload = openUpload(`${url}/videos/${videoId}/source`, pieces[i]!, { range: rangeOf(form, i) })
    for (let written = 0; written < pieces[i]!.length && budget.bytes > 0; ) {
      const step = Math.min(budget.bytes, randomInt(1, MiB))
      budget.bytes -= step
      written += step
      await upload.write(step)
    }
    // Sometimes the end is sent as well and the answer not waited for.
    if (budget.bytes <= 0 && randomInt(2) === 0) return
    const answer = upload.end()
    if (budget.bytes <= 0) return void answer.catch(() => {})
    const { status, text } = await answer
    assert.ok(status === 201 || status === 409, text)
    if (status === 201) acknowledged.add(i)
  }
}

/** Sends what is missing until nothing is. A piece whose writer was killed may take a while to be free. */
async function sendRest(url: string, videoId: string, form: Form): Promise<void> {
  const isDone = async () => {
    const received = await receivedOf(url, videoId, form)
    const missing = [...pieces.keys()].filter((i) => !received.has(i))
    const answers = await Promise.all(
      missing.map((i) =>
        sendFile(`${url}/videos/${videoId}/source`, pieces[i]!, { range: rangeOf(form, i) }),
      ),
    )
    for (const { status, text } of answers) assert.ok(status === 201 || status === 409, text)
    return answers.every(({ status }) => status === 201)
  }
  await waitFor(isDone)
}

suite('after kill -9', { concurrency: 4 }, () => {
  test('at random moments, chunked uploads go on where the status says, until their bytes are there', async (t) => {
    const at = await place(t)
    let service = await at.start()
    const forms: Form[] = ['parts', 'bytes', 'parts']
    const uploads = await Promise.all(
      forms.map(async (form) => ({ form, id: await newVideo(service.url), acknowledged: new Set<number>() })),
    )
    for (let round = 0; round < 2; round++) {
      const { url } = service
      const budgets = uploads.map(() => ({ bytes: randomInt(1, 2 * piece) }))
      t.diagnostic(`round ${round}: killed after ${budgets.map(({ bytes }) => bytes)} bytes`)
      // The first that has sent its share brings the service down for all.
      const sending = uploads.map(({ form, id, acknowledged }, i) =>
        sendUntil(url, id, form, budgets[i]!, acknowledged),
      )
      const settled = Promise.allSettled(sending)
      await Promise.race(sending)
      await service.kill()
      for (const each of await settled) {
        if (each.status === 'rejected' && each.reason instanceof assert.AssertionError) throw each.reason
      }
      service = await at.start()
    }
    await Promise.all(
      uploads.map(async ({ form, id, acknowledged }) => {
        const received = await receivedOf(service.url, id, form)
        for (const i of acknowledged) assert.ok(received.has(i), `${form}: piece ${i} is lost`)
        await sendRest(service.url, id, form)
        await assertSource(at.data, id, big)
      }),
    )
  })

  test('a piece whose process was killed is taken when it is sent again at once, by another process too', async (t) => {
    const at = await place(t)
    const [one, two] = [await at.start(), await at.start()]
    const videoId = await newVideo(one.url)
    const upload = openUpload(`${one.url}/videos/${videoId}/source`, pieces[0]!, { range: 'part 1/2' })
    await upload.write(3 * MiB)
    await waitFor(async () => (await query(at.database, 'select from source_pieces')).length === 1)
    await one.kill()
    // Browsers' uploaders give up at any 4xx.
    const answer: Answer = await sendFile(`${two.url}/videos/${videoId}/source`, pieces[0]!, {
      range: 'part 1/2',
    })
    assert.equal(answer.status, 201, answer.text)
    const last = await sendFile(`${two.url}/videos/${videoId}/source`, pieces[1]!, { range: 'part 2/2' })
    assert.equal(last.status, 201, last.text)
    await assertSource(at.data, videoId, big.subarray(0, 2 * piece))
  })

  test('right after the last 201, the source is stored by the next process', async (t) => {
    const at = await place(t)
    const service = await at.start()
    const sent: string[] = []
    for (const form of ['parts', 'bytes'] as const) {
      const id = await newVideo(service.url)
      for (const i of [3, 0, 2, 1]) {
        const answer = await sendFile(`${service.url}/videos/${id}/source`, pieces[i]!, {
          range: rangeOf(form, i),
        })
        assert.equal(answer.status, 201, answer.text)
      }
      sent.push(id)
    }
    const whole = await newVideo(service.url)
    const answer = await sendFile(`${service.url}/videos/${whole}/source`, big)
    assert.equal(answer.status, 201, answer.text)
    sent.push(whole)
    await service.kill()
    const next = await at.start()
    for (const id of sent) {
      const { body } = await call(`${next.url}/videos/${id}/status`)
      assert.deepEqual([body.ingest.status, body.ingest.filesize], ['uploaded', big.length])
      await assertSource(at.data, id, big)
    }
  })

  test('a delegated upload that was cut off goes on without a name for its video', async (t) => {
    const at = await place(t)
    const service = await at.start()
    const { body } = await call(`${service.url}/upload-tokens`, { method: 'POST', json: {} })
    const send = (url: string, i: number) =>
      sendFile(`${url}/upload?token=${body.token}`, pieces[i]!, { key: '', range: rangeOf('parts', i) })
    const first = await send(service.url, 0)
    assert.equal(first.status, 201, first.text)
    const cut = openUpload(`${service.url}/upload?token=${body.token}`, pieces[1]!, {
      key: '',
      range: rangeOf('parts', 1),
    })
    await cut.write(2 * MiB)
    await service.kill()
    const next = await at.start()
    for (const i of [1, 2, 3]) {
      const answer = await send(next.url, i)
      assert.deepEqual([answer.status, answer.body.videoId], [201, first.body.videoId], answer.text)
    }
    await assertSource(at.data, first.body.videoId, big)
  })
})
