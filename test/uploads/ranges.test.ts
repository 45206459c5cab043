import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { afterEach, test } from 'node:test'
import pg from 'pg'
import {
  type ApiResponse,
  assertNoErrorsLogged,
  assertProblem,
  assertSource,
  call,
  callRaw,
  type FileOptions,
  formBody,
  listFiles,
  MiB,
  openUpload,
  productionKey,
  query,
  sandboxKey,
  sendFile,
  sendRaw,
  sharedKinora,
  waitFor,
} from '../support/harness.ts'
import { withoutEncoding } from '../support/programs.ts'
import { createVideo, markEncoded, sourceUrl, videoStatus } from '../support/videos.ts'

// Invalid uploads, and uploads that contradict received chunks, are rejected with the reason and leave nothing behind.

const service = sharedKinora(withoutEncoding())

afterEach(() => assertNoErrorsLogged(service))

const chunkBytes = 5 * MiB
const big = randomBytes(2 * chunkBytes + 1000)
const first = big.subarray(0, chunkBytes)
const second = big.subarray(chunkBytes, 2 * chunkBytes)
const rest = big.subarray(2 * chunkBytes)
const small = rest
const empty = Buffer.alloc(0)

async function newToken(prefix = '', key = productionKey, json = {}): Promise<string> {
  const response = await call(`${service.url}${prefix}/upload-tokens`, { method: 'POST', key, json })
  return response.body.token
}

const boundToken = (videoId: string) => newToken('', productionKey, { videoId })

const delegated = (token: string) => `${service.url}/upload?token=${token}`

async function assertAccepted(videoId: string, content: Buffer, range?: string): Promise<void> {
  const response = await sendFile(sourceUrl(service, videoId), content, range === undefined ? {} : { range })
  assert.equal(response.status, 201, `${range}: ${response.text}`)
}

async function assertRejected(videoId: string, content: Buffer, range: string | undefined, slug: string) {
  const response = await sendFile(sourceUrl(service, videoId), content, range === undefined ? {} : { range })
  const isAboutRange = slug.startsWith('video-content-range-')
  const name = slug.startsWith('uploaded-file') ? 'file' : isAboutRange ? 'Content-Range' : undefined
  assertProblem(response, 400, slug, name)
}

/** Every file of an upload that takes up space. */
async function listStored(): Promise<string[]> {
  const paths = await listFiles(service)
  const blocks = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        (found) => found.blocks,
        () => 0,
      ),
    ),
  )
  return paths.filter((_, i) => blocks[i]! > 0)
}

/** Waits until all files that are not in the list are removed. */
async function waitForRemoval(known: string[]): Promise<void> {
  let found: string[] = []
  await waitFor(
    async () => {
      found = (await listStored()).filter((path) => !known.includes(path))
      return found.length === 0
    },
    () => `left behind: ${found.join(' ')}`,
  )
}

const rangeSlug = (kind: string) => `video-content-range-${kind}`

// --- Headers

test('an invalid Content-Range is rejected with its specific error', async () => {
  const videoId = await createVideo(service)
  const known = await listStored()
  const cases: [range: string, kind: string][] = [
    ['', 'malformed'],
    ['nonsense', 'malformed'],
    ['bytes', 'malformed'],
    ['bytes 0-9', 'malformed'],
    ['bytes */10', 'malformed'],
    ['bytes 0-/10', 'malformed'],
    ['bytes -1-9/10', 'malformed'],
    ['bytes=0-9/10', 'malformed'],
    ['bytes 0-9/ten', 'malformed'],
    ['bytes 0-99999999999999999999/*', 'malformed'],
    ['bytes 0.5-9/10', 'malformed'],
    ['part 1', 'malformed'],
    ['part 1/', 'malformed'],
    ['part a/b', 'malformed'],
    ['part -1/2', 'malformed'],
    ['part 1/2, part 2/2', 'malformed'],
    ['parts 1/2', 'malformed'],
    ['items 0-9/10', 'malformed'],
    ['bytes 9-0/10', 'by-bytes-from-byte-too-high'],
    ['bytes 0-0/0', 'by-bytes-total-bytes-zero'],
    ['bytes 0-10/10', 'by-bytes-to-byte-too-high-total'],
    [`bytes 0-${chunkBytes - 2}/${2 * chunkBytes}`, 'by-bytes-range-too-small'],
    ['bytes 0-9/*', 'by-bytes-range-too-small'],
    ['part 0/1', 'by-part-part-zero'],
    ['part 0/*', 'by-part-part-zero'],
    ['part 1/0', 'by-part-total-parts-zero'],
    ['part 10001/*', 'by-part-part-too-high-allowed'],
    ['part 1/10001', 'by-part-total-parts-too-high'],
    ['part 3/2', 'by-part-part-too-high-total'],
  ]
  for (const [range, kind] of cases) {
    await assertRejected(videoId, small, range, rangeSlug(kind))
    assertProblem(
      await sendFile(delegated(await newToken()), small, { range, key: '' }),
      400,
      rangeSlug(kind),
      'Content-Range',
    )
  }
  assert.equal((await videoStatus(service, videoId)).ingest, null)
  await waitForRemoval(known)
  const { body } = await call(`${service.url}/videos`)
  assert.equal(body.pagination.itemsTotal, 1)
})

test('Content-Range is not case-sensitive and can contain extra spaces', async () => {
  const videoId = await createVideo(service)
  await assertAccepted(videoId, first, ' Part  1/2 ')
  await assertAccepted(videoId, small, 'PART 2/2')
  await assertSource(service.data, videoId, Buffer.concat([first, small]))
})

test('an empty file is rejected, unless it is the last of several parts', async () => {
  const known = await listStored()
  for (const range of [undefined, 'part 1/1', 'part 1/2', 'part 1/*', 'part 2/3']) {
    const videoId = await createVideo(service)
    const response = await sendFile(sourceUrl(service, videoId), empty, range === undefined ? {} : { range })
    assertProblem(response, 400, 'uploaded-file-empty', 'file')
    const byToken = await sendFile(delegated(await newToken()), empty, {
      key: '',
      ...(range !== undefined && { range }),
    })
    assertProblem(byToken, 400, 'uploaded-file-empty', 'file')
  }
  await waitForRemoval(known)
})

test('a file that is shorter or longer than its range is rejected, and the range can be sent again', async () => {
  const known = await listStored()
  const videoId = await createVideo(service)
  const total = 2 * chunkBytes
  const range = `bytes 0-${chunkBytes - 1}/${total}`
  for (const content of [
    empty,
    first.subarray(1),
    Buffer.concat([first, small.subarray(0, 1)]),
    big,
    first.subarray(0, 10),
  ])
    await assertRejected(videoId, content, range, rangeSlug('by-bytes-range-mismatch'))
  await waitForRemoval(known)
  await assertAccepted(videoId, second, `bytes ${chunkBytes}-${total - 1}/${total}`)
  await assertRejected(videoId, big, range, rangeSlug('by-bytes-range-mismatch'))
  await assertAccepted(videoId, first, range)
  await assertSource(service.data, videoId, big.subarray(0, total))
})

test('a part that is too small is rejected, unless it is the last', async () => {
  const videoId = await createVideo(service)
  for (const range of ['part 1/2', 'part 1/*', 'part 2/*', 'part 2/3'])
    await assertRejected(videoId, first.subarray(1), range, rangeSlug('by-part-uploaded-file-too-small'))
  await assertAccepted(videoId, first, 'part 1/2')
  await assertAccepted(videoId, small, 'part 2/2')
  await assertSource(service.data, videoId, Buffer.concat([first, small]))
})

// --- Contradictions with received chunks

test('overlapping ranges are rejected, and the received range stays', async () => {
  const videoId = await createVideo(service)
  const total = big.length
  const overlap = rangeSlug('by-bytes-range-overlap')
  const send = (from: number, to: number) =>
    assertRejected(videoId, big.subarray(from, to), `bytes ${from}-${to - 1}/${total}`, overlap)
  await assertAccepted(videoId, second, `bytes ${chunkBytes}-${2 * chunkBytes - 1}/${total}`)
  await send(0, chunkBytes + 1)
  await send(0, total)
  await send(chunkBytes, 2 * chunkBytes + 1)
  await send(chunkBytes, total)
  await send(2 * chunkBytes - 1, total)
  await send(chunkBytes - 1, 2 * chunkBytes)
  await assertAccepted(videoId, first, `bytes 0-${chunkBytes - 1}/${total}`)
  await assertAccepted(videoId, rest, `bytes ${2 * chunkBytes}-${total - 1}/${total}`)
  await assertSource(service.data, videoId, big)
})

test('a chunk that is sent again with different content is rejected, and the first content stays', async () => {
  const videoId = await createVideo(service)
  await assertAccepted(videoId, first, 'part 1/3')
  await assertRejected(videoId, second, 'part 1/3', rangeSlug('by-part-part-already-sent'))
  await assertRejected(videoId, big, 'part 1/3', rangeSlug('by-part-part-already-sent'))
  await assertAccepted(videoId, second, 'part 2/3')
  await assertAccepted(videoId, rest, 'part 3/3')
  await assertRejected(videoId, second, 'part 3/3', rangeSlug('by-part-part-already-sent'))
  await assertSource(service.data, videoId, big)

  const bytes = await createVideo(service)
  const range = `bytes 0-${chunkBytes - 1}/${big.length}`
  await assertAccepted(bytes, first, range)
  await assertRejected(bytes, second, range, rangeSlug('by-bytes-range-overlap'))
})

test('a different total is rejected, also with a chunk that was received before', async () => {
  const parts = await createVideo(service)
  await assertAccepted(parts, first, 'part 1/3')
  await assertRejected(parts, second, 'part 2/4', rangeSlug('by-part-different-total-parts'))
  await assertRejected(parts, second, 'part 2/2', rangeSlug('by-part-different-total-parts'))
  await assertRejected(parts, first, 'part 1/2', rangeSlug('by-part-different-total-parts'))
  const bytes = await createVideo(service)
  await assertAccepted(bytes, first, `bytes 0-${chunkBytes - 1}/${big.length}`)
  const range = `bytes ${chunkBytes}-${2 * chunkBytes - 1}`
  await assertRejected(
    bytes,
    second,
    `${range}/${big.length + 1}`,
    rangeSlug('by-bytes-different-total-bytes'),
  )
  await assertRejected(
    bytes,
    second,
    `${range}/${2 * chunkBytes}`,
    rangeSlug('by-bytes-different-total-bytes'),
  )
})

test('a total that is lower than the received chunks is rejected', async () => {
  const parts = await createVideo(service)
  await assertAccepted(parts, first, 'part 3/*')
  await assertRejected(parts, second, 'part 1/2', rangeSlug('by-part-total-parts-too-low'))
  await assertAccepted(parts, second, 'part 1/3')
  const bytes = await createVideo(service)
  await assertAccepted(bytes, first, `bytes ${2 * chunkBytes}-${3 * chunkBytes - 1}/*`)
  await assertRejected(
    bytes,
    second,
    `bytes 0-${chunkBytes - 1}/${3 * chunkBytes - 1}`,
    rangeSlug('by-bytes-total-bytes-too-low'),
  )
  await assertAccepted(bytes, second, `bytes 0-${chunkBytes - 1}/${3 * chunkBytes}`)
})

test('a chunk after the end is rejected', async () => {
  const parts = await createVideo(service)
  await assertAccepted(parts, first, 'part 1/2')
  await assertRejected(parts, second, 'part 3/*', rangeSlug('by-part-part-too-high-total'))
  const bytes = await createVideo(service)
  await assertAccepted(bytes, first, `bytes 0-${chunkBytes - 1}/${2 * chunkBytes}`)
  const range = `bytes ${chunkBytes}-${2 * chunkBytes}/*`
  await assertRejected(
    bytes,
    big.subarray(0, chunkBytes + 1),
    range,
    rangeSlug('by-bytes-to-byte-too-high-total'),
  )
})

test('an upload must continue in the form in which it started', async () => {
  const parts = await createVideo(service)
  await assertAccepted(parts, first, 'part 1/2')
  await assertRejected(
    parts,
    second,
    `bytes ${chunkBytes}-${2 * chunkBytes - 1}/${2 * chunkBytes}`,
    rangeSlug('started-with-part'),
  )
  await assertRejected(parts, small, undefined, rangeSlug('already-initiated'))
  await assertAccepted(parts, second, 'part 2/2')
  await assertSource(service.data, parts, big.subarray(0, 2 * chunkBytes))
  const bytes = await createVideo(service)
  await assertAccepted(bytes, first, `bytes 0-${chunkBytes - 1}/${2 * chunkBytes}`)
  await assertRejected(bytes, second, 'part 2/2', rangeSlug('started-with-bytes'))
  await assertRejected(bytes, small, undefined, rangeSlug('already-initiated'))
})

test('only one of two concurrent requests with contradictory totals is accepted', async () => {
  for (const [slow, slowFile, quick, quickFile] of [
    ['part 1/1', first, 'part 2/*', second],
    ['part 1/2', first, 'part 3/*', second],
    ['part 1/2', first, 'part 2/3', second],
    [`bytes 0-${chunkBytes - 1}/${chunkBytes}`, first, `bytes ${chunkBytes}-${2 * chunkBytes - 1}/*`, second],
    [
      `bytes 0-${chunkBytes - 1}/${2 * chunkBytes}`,
      first,
      `bytes ${chunkBytes}-${2 * chunkBytes - 1}/${2 * chunkBytes + 1}`,
      second,
    ],
  ] as const) {
    const videoId = await createVideo(service)
    const upload = openUpload(sourceUrl(service, videoId), slowFile, { range: slow })
    await upload.write(2 * MiB)
    await waitFor(
      async () =>
        (await query(service.database, 'select from source_pieces where video_id = $1', [videoId])).length ===
        1,
    )
    const other = await sendFile(sourceUrl(service, videoId), quickFile, { range: quick })
    const one = await upload.end()
    assert.deepEqual([one.status, other.status].sort(), [201, 400], `${slow} beside ${quick}`)
  }
})

// --- Videos and tokens

test('a video that has a source accepts no other', async () => {
  const uploaded = await createVideo(service)
  const bound = await boundToken(uploaded)
  await assertAccepted(uploaded, small)
  await markEncoded(service.database, uploaded)
  const already = 'video-source-already-uploaded'
  await assertRejected(uploaded, first, undefined, already)
  await assertRejected(uploaded, first, 'part 1/2', already)
  await assertRejected(uploaded, first, `bytes 0-${chunkBytes - 1}/*`, already)
  assertProblem(
    await sendFile(delegated(bound), first, { key: '', after: { videoId: uploaded } }),
    400,
    already,
  )
  await assertSource(service.data, uploaded, small)

  const chunked = await createVideo(service)
  await assertAccepted(chunked, small, 'part 1/1')
  await markEncoded(service.database, chunked)
  await assertRejected(chunked, first, undefined, already)
  await assertRejected(chunked, second, 'part 2/2', already)
  await assertSource(service.data, chunked, small)

  // The fetch fails, because private networks are not allowed. The video still has a URL as its source.
  const fetched = await createVideo(service, { title: 'Fetched', source: 'http://127.0.0.1:9/film.mp4' })
  await assertRejected(fetched, small, undefined, 'video-source-already-downloaded')
  await assertRejected(fetched, first, 'part 1/2', 'video-source-already-downloaded')
  const clone = await createVideo(service, { title: 'Clone', source: uploaded })
  await assertRejected(clone, first, undefined, 'video-source-already-copied')
})

test('a video that does not exist or belongs to the other environment returns 404', async () => {
  const videoId = await createVideo(service)
  const absent = 'vi0000000000000000000000'
  const known = await listStored()
  for (const id of [absent, 'nonsense', `${videoId}x`])
    assertProblem(await sendFile(sourceUrl(service, id), small), 404, 'resource-not-found', 'videoId')
  assertProblem(
    await sendFile(`${service.url}/sandbox/videos/${videoId}/source`, small, { key: sandboxKey }),
    404,
    'resource-not-found',
    'videoId',
  )
  const sandboxToken = await newToken('/sandbox', sandboxKey)
  const inSandbox = ['/sandbox', ''].map((base) => `${service.url}${base}/upload?token=${sandboxToken}`)
  for (const position of ['before', 'after'] as const) {
    for (const id of [absent, 'x'.repeat(1000), '../..']) {
      const response = await sendFile(delegated(await newToken()), small, {
        key: '',
        [position]: { videoId: id },
      })
      assertProblem(response, 404, 'resource-not-found', 'videoId')
    }
    for (const url of inSandbox) {
      const foreign = await sendFile(url, small, { key: '', [position]: { videoId } })
      assertProblem(foreign, 404, 'resource-not-found', 'videoId')
    }
  }
  assert.equal((await videoStatus(service, videoId)).ingest, null)
  await waitForRemoval(known)
})

test('a token that is missing, invalid or of another environment is rejected, and nothing is stored', async () => {
  const known = await listStored()
  const invalid = 'authentication-invalid-upload-token'
  assertProblem(await sendFile(`${service.url}/upload`, small), 401, 'authentication-missing-upload-token')
  for (const token of ['nonsense', 'to0000000000000000000000', '%00', "'"])
    assertProblem(await sendFile(delegated(token), small, { key: '' }), 401, invalid)
  const foreign = `${service.url}/sandbox/upload?token=${await newToken()}`
  assertProblem(await sendFile(foreign, small, { key: '' }), 401, invalid)
  assertProblem(
    await sendFile(sourceUrl(service, await createVideo(service)), small, { key: '' }),
    401,
    'authentication-missing-authorization-header',
  )
  await waitForRemoval(known)
})

test('a later part with a token is rejected if no unfinished upload matches its file name, token and total', async () => {
  const known = await listStored()
  const [token, other] = [await newToken(), await newToken()]
  const send = (token: string, content: Buffer, options: FileOptions) =>
    sendFile(delegated(token), content, { key: '', ...options })
  const assertUnmatched = (response: ApiResponse) =>
    assertProblem(response, 400, 'attribute-required', 'videoId')
  assertUnmatched(await send(token, second, { range: 'part 2/2' }))
  assertUnmatched(
    await send(token, second, { range: `bytes ${chunkBytes}-${2 * chunkBytes - 1}/${2 * chunkBytes}` }),
  )
  await waitForRemoval(known)
  const begun = await send(token, first, { range: 'part 1/2', filename: 'a.mp4' })
  assert.equal(begun.status, 201)
  assertUnmatched(await send(token, second, { range: 'part 2/2', filename: 'b.mp4' }))
  assertUnmatched(await send(other, second, { range: 'part 2/2', filename: 'a.mp4' }))
  assertUnmatched(await send(token, second, { range: 'part 2/3', filename: 'a.mp4' }))
  const ended = await send(token, second, { range: 'part 2/2', filename: 'a.mp4' })
  assert.deepEqual([ended.status, ended.body.videoId], [201, begun.body.videoId])
  assertUnmatched(await send(token, second, { range: 'part 2/2', filename: 'a.mp4' }))
  await assertSource(service.data, begun.body.videoId, big.subarray(0, 2 * chunkBytes))
})

test('one of two concurrent single-request uploads into one video is stored completely, and the other is rejected', async () => {
  const [a, b] = [randomBytes(2 * MiB), randomBytes(2 * MiB + 5)]
  for (let round = 0; round < 4; round++) {
    const videoId = await createVideo(service)
    const responses = await Promise.all(
      [a, b].map((content) => sendFile(sourceUrl(service, videoId), content)),
    )
    const winner = responses[0]!.status === 201 ? 0 : 1
    assert.equal(responses[winner]!.status, 201, responses[winner]!.text)
    assertProblem(responses[1 - winner]!, 400, 'video-source-already-uploaded')
    await assertSource(service.data, videoId, [a, b][winner]!)
  }
})

test('a second upload waits for a slow upload and is accepted when the first one is aborted', async () => {
  const videoId = await createVideo(service)
  const slow = openUpload(sourceUrl(service, videoId), big)
  await slow.write(3 * MiB)
  await waitFor(
    async () =>
      (await query(service.database, 'select from source_pieces where video_id = $1', [videoId])).length ===
      1,
  )
  const other = sendFile(sourceUrl(service, videoId), second)
  await slow.abort()
  assert.equal((await other).status, 201)
  await assertSource(service.data, videoId, second)
})

// --- Aborted requests

test('an aborted request leaves no chunk in the status and no file', async () => {
  const known = await listStored()
  for (const range of [undefined, 'part 1/2', 'part 2/*', `bytes 0-${big.length - 1}/${big.length}`]) {
    const videoId = await createVideo(service)
    const upload = openUpload(sourceUrl(service, videoId), big, range === undefined ? {} : { range })
    await upload.write(4 * MiB)
    await waitFor(
      async () =>
        (await query(service.database, 'select from source_pieces where video_id = $1', [videoId])).length ===
        1,
    )
    await upload.abort()
    await waitFor(
      async () =>
        (await query(service.database, 'select from source_pieces where video_id = $1', [videoId])).length ===
        0,
    )
    const { ingest } = await videoStatus(service, videoId)
    assert.deepEqual(ingest?.receivedParts.parts ?? [], [])
    assert.deepEqual(ingest?.receivedBytes ?? [], [])
    assert.equal(ingest?.filesize ?? null, null)
  }
  const byToken = openUpload(delegated(await newToken()), big, { key: '' })
  await byToken.write(4 * MiB)
  await waitFor(async () => (await listStored()).some((path) => !known.includes(path)))
  await byToken.abort()
  await waitForRemoval(known)
  const rows = await query(service.database, 'select from videos')
  assert.equal(rows.length, 4)
})

test('after an aborted or rejected first request the upload can start in another form', async () => {
  const aborted = await createVideo(service)
  const upload = openUpload(sourceUrl(service, aborted), big)
  await upload.write(2 * MiB)
  const countLeases = async () =>
    (await query(service.database, 'select from source_pieces where video_id = $1', [aborted])).length
  await waitFor(async () => (await countLeases()) === 1)
  await upload.abort()
  await waitFor(async () => (await countLeases()) === 0)
  await assertAccepted(aborted, first, 'part 1/2')
  await assertAccepted(aborted, second, 'part 2/2')
  await assertSource(service.data, aborted, big.subarray(0, 2 * chunkBytes))

  const tooSmall = await createVideo(service)
  await assertRejected(tooSmall, small, 'part 1/2', rangeSlug('by-part-uploaded-file-too-small'))
  await assertAccepted(tooSmall, small)
  await assertSource(service.data, tooSmall, small)
})

test('after a rejected first request the ingest status is null', async () => {
  const videoId = await createVideo(service)
  await assertRejected(videoId, empty, undefined, 'uploaded-file-empty')
  assert.equal((await videoStatus(service, videoId)).ingest, null)
})

test('a chunk can be sent again right after its request was aborted', async () => {
  const videoId = await createVideo(service)
  await assertAccepted(videoId, first, 'part 1/2')
  const upload = openUpload(sourceUrl(service, videoId), second, { range: 'part 2/2' })
  await upload.write(3 * MiB)
  await upload.abort()
  await assertAccepted(videoId, second, 'part 2/2')
  await assertSource(service.data, videoId, big.subarray(0, 2 * chunkBytes))
})

// --- Bodies

const postBody = (videoId: string, body: Buffer | string, contentType: string) =>
  callRaw(service.url, `/videos/${videoId}/source`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${productionKey}:`)}`, 'content-type': contentType },
    body,
  })

test('a body that is not a form, or a form without exactly one file, is rejected and leaves nothing behind', async () => {
  const known = await listStored()
  const videoId = await createVideo(service)
  const form = 'multipart/form-data; boundary=b'
  const file = { name: 'file', filename: 'a', content: small }
  const many = Array.from({ length: 30 }, (_, i) => ({ name: `f${i}`, content: 'x' }))
  const cases: [what: string, body: Buffer | string, type: string, slug: string, name?: string][] = [
    ['JSON', '{}', 'application/json', 'invalid-payload'],
    ['bytes', small, 'application/octet-stream', 'invalid-payload'],
    ['a URL-encoded form', 'a=b', 'application/x-www-form-urlencoded', 'invalid-payload'],
    ['another multipart type', formBody([file], 'b'), 'multipart/mixed; boundary=b', 'invalid-payload'],
    ['no boundary', formBody([file], 'b'), 'multipart/form-data', 'invalid-payload'],
    ['no file', formBody([{ name: 'title', content: 'x' }], 'b'), form, 'uploaded-file-no-file', 'file'],
    ['an empty form', formBody([], 'b'), form, 'uploaded-file-no-file', 'file'],
    [
      'two files',
      formBody([file, { ...file, name: 'b' }], 'b'),
      form,
      'uploaded-file-multiple-files',
      'file',
    ],
    ['too many fields before the file', formBody([...many, file], 'b'), form, 'invalid-payload'],
    ['too many fields after the file', formBody([file, ...many], 'b'), form, 'invalid-payload'],
  ]
  for (const [what, body, type, slug, name] of cases) {
    const response = await postBody(videoId, body, type)
    assert.equal(response.status, 400, `${what}: ${response.status} ${response.text}`)
    assertProblem(response, 400, slug, name)
  }
  const complete = formBody([file], 'b')
  for (const [what, body] of [
    ['an empty body', Buffer.alloc(0)],
    ['a different boundary', formBody([file], 'c')],
    ['a body that ends in the file', complete.subarray(0, complete.length - 20)],
    ['a body that ends in the last boundary', complete.subarray(0, complete.length - 4)],
    ['a body that ends in a header', complete.subarray(0, 30)],
    ['random bytes', randomBytes(100_000)],
  ] as const) {
    const response = await postBody(videoId, body, form)
    assert.equal(response.status, 400, `${what}: ${response.status} ${response.text}`)
  }
  const { ingest } = await videoStatus(service, videoId)
  assert.notEqual(ingest?.status, 'uploaded')
  await waitForRemoval(known)
  await assertAccepted(videoId, small)
  await assertSource(service.data, videoId, small)
})

test('a form with two files stores neither of them', async () => {
  const known = await listStored()
  const two = formBody(
    [
      { name: 'a', filename: 'a', content: first },
      { name: 'b', filename: 'b', content: second },
    ],
    'b',
  )
  for (const isDelegated of [true, false]) {
    const videoId = await createVideo(service)
    const path = isDelegated ? `/upload?token=${await newToken()}` : `/videos/${videoId}/source`
    const response = await callRaw(service.url, path, {
      method: 'POST',
      headers: {
        'content-type': 'multipart/form-data; boundary=b',
        ...(!isDelegated && { authorization: `Basic ${btoa(`${productionKey}:`)}` }),
      },
      body: two,
    })
    assertProblem(response, 400, 'uploaded-file-multiple-files', 'file')
    assert.notEqual((await videoStatus(service, videoId)).ingest?.status, 'uploaded')
  }
  assert.equal((await query(service.database, 'select from videos')).length, 2)
  await waitForRemoval(known)
})

test('a body whose connection closes before its declared length does not count', async () => {
  const videoId = await createVideo(service)
  const complete = formBody([{ name: 'file', filename: 'a', content: first }], 'b')
  const upload = openUpload(sourceUrl(service, videoId), first, { headers: {} })
  await upload.write(complete.length - 100)
  await upload.abort()
  await waitFor(
    async () =>
      (await query(service.database, 'select from source_pieces where video_id = $1', [videoId])).length ===
      0,
  )
  assert.notEqual((await videoStatus(service, videoId)).ingest?.status, 'uploaded')
})

test('a chunk whose video is being deleted waits, and neither of them ends as a deadlock', async () => {
  const videoId = await createVideo(service)
  await assertAccepted(videoId, first, `bytes 0-${chunkBytes - 1}/${big.length}`)
  const deleting = new pg.Client(service.database)
  await deleting.connect()
  await deleting.query('begin')
  await deleting.query('select from all_videos where id = $1 for update', [videoId])
  const range = `bytes ${chunkBytes}-${2 * chunkBytes - 1}/${big.length}`
  const sending = sendFile(sourceUrl(service, videoId), second, { range })
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await waitFor(async () => (await query(service.database, waiting)).length > 0)
  await deleting.query('delete from all_videos where id = $1', [videoId])
  await deleting.query('commit')
  await deleting.end()
  assertProblem(await sending, 404, 'resource-not-found', 'videoId')
})

test('a client that sends Expect: 100-continue receives 100 and then 201', async () => {
  const videoId = await createVideo(service)
  const head = (id: string) =>
    [
      `POST /videos/${id}/source HTTP/1.1`,
      'host: localhost',
      `authorization: Basic ${btoa(`${productionKey}:`)}`,
      'content-type: multipart/form-data; boundary=b',
      'expect: 100-continue',
      'connection: close',
    ].join('\r\n')
  const body = formBody([{ name: 'file', filename: 'a', content: small }], 'b')
  const text = Buffer.concat([
    Buffer.from(`${head(videoId)}\r\ncontent-length: ${body.length}\r\n\r\n`),
    body,
  ])
  const response = await sendRaw(service.url, text)
  assert.match(response, /^HTTP\/1\.1 100 [\s\S]*HTTP\/1\.1 201 /)
  await assertSource(service.data, videoId, small)
})

test('a rejected large upload receives its error response and no connection error', async () => {
  const filled = await createVideo(service)
  await assertAccepted(filled, small)
  await markEncoded(service.database, filled)
  for (let n = 0; n < 3; n++) {
    await assertRejected(filled, big, undefined, 'video-source-already-uploaded')
    assertProblem(
      await sendFile(sourceUrl(service, 'vi0000000000000000000000'), big),
      404,
      'resource-not-found',
      'videoId',
    )
    assertProblem(
      await sendFile(delegated('nonsense'), big, { key: '' }),
      401,
      'authentication-invalid-upload-token',
    )
  }
})
