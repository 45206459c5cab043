import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { suite, test } from 'node:test'
import {
  type ApiResponse,
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
} from '../support/harness.ts'
import { createVideo } from '../support/videos.ts'

// After SIGKILL at any moment, every chunk that returned 201 is still there, and clients continue from the status.

const chunkBytes = 5 * MiB
const big = randomBytes(3 * chunkBytes + 4321)
const chunks = Array.from({ length: 4 }, (_, i) => big.subarray(i * chunkBytes, (i + 1) * chunkBytes))

type Installation = { database: string; data: string; start(): Promise<Kinora> }

/** A database and a data folder that outlive the processes. */
async function createInstallation(t: { after(end: () => unknown): void }): Promise<Installation> {
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

type Form = 'parts' | 'bytes'

const rangeOf = (form: Form, i: number) =>
  form === 'parts'
    ? `part ${i + 1}/${chunks.length}`
    : `bytes ${i * chunkBytes}-${i * chunkBytes + chunks[i]!.length - 1}/${big.length}`

/** The indexes of the chunks that the status lists. */
async function receivedOf(url: string, videoId: string, form: Form): Promise<Set<number>> {
  const { status, body } = await call(`${url}/videos/${videoId}/status`)
  assert.equal(status, 200)
  if (form === 'parts')
    return new Set((body.ingest?.receivedParts.parts ?? []).map((part: number) => part - 1))
  const received: { from: number; to: number }[] = body.ingest?.receivedBytes ?? []
  for (const { from, to } of received) assert.equal(to - from + 1, chunks[from / chunkBytes]!.length)
  return new Set(received.map(({ from }) => from / chunkBytes))
}

/** Sends the missing chunks in small steps until the budget is used up. The caller then kills the service. */
async function sendUntil(
  url: string,
  videoId: string,
  form: Form,
  budget: { bytes: number },
  acknowledged: Set<number>,
): Promise<void> {
  const received = await receivedOf(url, videoId, form)
  for (const i of acknowledged) assert.ok(received.has(i), `${form}: chunk ${i} returned 201 and is lost`)
  for (const i of chunks.keys()) {
    if (received.has(i)) continue
    const upload = openUpload(`${url}/videos/${videoId}/source`, chunks[i]!, { range: rangeOf(form, i) })
    for (let written = 0; written < chunks[i]!.length && budget.bytes > 0; ) {
      const step = Math.min(budget.bytes, randomInt(1, MiB))
      budget.bytes -= step
      written += step
      await upload.write(step)
    }
    // In half of the cases, the end is sent as well and the response is not awaited.
    if (budget.bytes <= 0 && randomInt(2) === 0) return
    const response = upload.end()
    if (budget.bytes <= 0) return void response.catch(() => {})
    const { status, text } = await response
    assert.ok(status === 201 || status === 409, text)
    if (status === 201) acknowledged.add(i)
  }
}

/** Sends the missing chunks until none is missing. The lease of a killed writer has to expire first. */
async function sendRest(url: string, videoId: string, form: Form): Promise<void> {
  const isDone = async () => {
    const received = await receivedOf(url, videoId, form)
    const missing = [...chunks.keys()].filter((i) => !received.has(i))
    const responses = await Promise.all(
      missing.map((i) =>
        sendFile(`${url}/videos/${videoId}/source`, chunks[i]!, { range: rangeOf(form, i) }),
      ),
    )
    for (const { status, text } of responses) assert.ok(status === 201 || status === 409, text)
    return responses.every(({ status }) => status === 201)
  }
  await waitFor(isDone)
}

suite('after SIGKILL', { concurrency: 4 }, () => {
  test('at random moments, clients complete chunked uploads with the chunks that the status does not list', async (t) => {
    const installation = await createInstallation(t)
    let service = await installation.start()
    const forms: Form[] = ['parts', 'bytes', 'parts']
    const uploads = await Promise.all(
      forms.map(async (form) => ({ form, id: await createVideo(service), acknowledged: new Set<number>() })),
    )
    for (let round = 0; round < 2; round++) {
      const { url } = service
      const budgets = uploads.map(() => ({ bytes: randomInt(1, 2 * chunkBytes) }))
      t.diagnostic(`round ${round}: killed after ${budgets.map(({ bytes }) => bytes)} bytes`)
      // The service is killed when the first upload has used up its budget.
      const sending = uploads.map(({ form, id, acknowledged }, i) =>
        sendUntil(url, id, form, budgets[i]!, acknowledged),
      )
      const settled = Promise.allSettled(sending)
      await Promise.race(sending)
      await service.kill()
      for (const each of await settled) {
        if (each.status === 'rejected' && each.reason instanceof assert.AssertionError) throw each.reason
      }
      service = await installation.start()
    }
    await Promise.all(
      uploads.map(async ({ form, id, acknowledged }) => {
        const received = await receivedOf(service.url, id, form)
        for (const i of acknowledged) assert.ok(received.has(i), `${form}: chunk ${i} is lost`)
        await sendRest(service.url, id, form)
        await assertSource(installation.data, id, big)
      }),
    )
  })

  test('another process accepts a chunk that is sent again right after its process was killed', async (t) => {
    const installation = await createInstallation(t)
    const [one, two] = [await installation.start(), await installation.start()]
    const videoId = await createVideo(one)
    const upload = openUpload(`${one.url}/videos/${videoId}/source`, chunks[0]!, { range: 'part 1/2' })
    await upload.write(3 * MiB)
    await waitFor(async () => (await query(installation.database, 'select from source_pieces')).length === 1)
    await one.kill()
    // A 4xx would not do, because the browser library stops at any 4xx.
    const response: ApiResponse = await sendFile(`${two.url}/videos/${videoId}/source`, chunks[0]!, {
      range: 'part 1/2',
    })
    assert.equal(response.status, 201, response.text)
    const last = await sendFile(`${two.url}/videos/${videoId}/source`, chunks[1]!, { range: 'part 2/2' })
    assert.equal(last.status, 201, last.text)
    await assertSource(installation.data, videoId, big.subarray(0, 2 * chunkBytes))
  })

  test('right after the last 201, the next process stores the source', async (t) => {
    const installation = await createInstallation(t)
    const service = await installation.start()
    const sent: string[] = []
    for (const form of ['parts', 'bytes'] as const) {
      const id = await createVideo(service)
      for (const i of [3, 0, 2, 1]) {
        const response = await sendFile(`${service.url}/videos/${id}/source`, chunks[i]!, {
          range: rangeOf(form, i),
        })
        assert.equal(response.status, 201, response.text)
      }
      sent.push(id)
    }
    const single = await createVideo(service)
    const response = await sendFile(`${service.url}/videos/${single}/source`, big)
    assert.equal(response.status, 201, response.text)
    sent.push(single)
    await service.kill()
    const next = await installation.start()
    for (const id of sent) {
      const { body } = await call(`${next.url}/videos/${id}/status`)
      assert.deepEqual([body.ingest.status, body.ingest.filesize], ['uploaded', big.length])
      await assertSource(installation.data, id, big)
    }
  })

  test('an interrupted upload with a token continues without the id of its video', async (t) => {
    const installation = await createInstallation(t)
    const service = await installation.start()
    const { body } = await call(`${service.url}/upload-tokens`, { method: 'POST', json: {} })
    const send = (url: string, i: number) =>
      sendFile(`${url}/upload?token=${body.token}`, chunks[i]!, { key: '', range: rangeOf('parts', i) })
    const first = await send(service.url, 0)
    assert.equal(first.status, 201, first.text)
    const cut = openUpload(`${service.url}/upload?token=${body.token}`, chunks[1]!, {
      key: '',
      range: rangeOf('parts', 1),
    })
    await cut.write(2 * MiB)
    await service.kill()
    const next = await installation.start()
    for (const i of [1, 2, 3]) {
      const response = await send(next.url, i)
      assert.deepEqual([response.status, response.body.videoId], [201, first.body.videoId], response.text)
    }
    await assertSource(installation.data, first.body.videoId, big)
  })
})
