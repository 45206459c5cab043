import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  type Answer,
  assertProblem,
  assertSource,
  call,
  callRaw,
  type FileOptions,
  formBody,
  MiB,
  openUpload,
  productionKey,
  query,
  sandboxKey,
  sendFile,
  sendRaw,
  sharedKinora,
  waitFor,
} from './harness.ts'
import { withoutEncoding } from './programs.ts'

// What is no upload, or contradicts what has come before: refused with its reason, and nothing of it stays.

const service = sharedKinora(withoutEncoding())
const piece = 5 * MiB
const big = randomBytes(2 * piece + 1000)
const first = big.subarray(0, piece)
const second = big.subarray(piece, 2 * piece)
const rest = big.subarray(2 * piece)
const small = rest
const empty = Buffer.alloc(0)

async function newVideo(json: object = { title: 'Film' }): Promise<string> {
  return (await call(`${service.url}/videos`, { method: 'POST', json })).body.videoId
}

async function newToken(prefix = '', key = productionKey, json = {}): Promise<string> {
  const answer = await call(`${service.url}${prefix}/upload-tokens`, { method: 'POST', key, json })
  return answer.body.token
}

const boundToken = (videoId: string) => newToken('', productionKey, { videoId })

const sourceOf = (videoId: string) => `${service.url}/videos/${videoId}/source`
const delegated = (token: string) => `${service.url}/upload?token=${token}`
const statusOf = async (videoId: string) => (await call(`${service.url}/videos/${videoId}/status`)).body

async function accepted(videoId: string, content: Buffer, range?: string): Promise<void> {
  const answer = await sendFile(sourceOf(videoId), content, range === undefined ? {} : { range })
  assert.equal(answer.status, 201, `${range}: ${answer.text}`)
}

async function refused(videoId: string, content: Buffer, range: string | undefined, slug: string) {
  const answer = await sendFile(sourceOf(videoId), content, range === undefined ? {} : { range })
  const isAboutRange = slug.startsWith('video-content-range-')
  const name = slug.startsWith('uploaded-file') ? 'file' : isAboutRange ? 'Content-Range' : undefined
  assertProblem(answer, 400, slug, name)
}

/** Every file of the store that takes up space. */
async function stored(): Promise<string[]> {
  const root = join(service.data, 'files')
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch((error) => {
    // A folder went away while the others were read.
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (!entries) return stored()
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
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

/** Waits until there is no file that was not there before. */
async function nothingNew(known: string[]): Promise<void> {
  let found: string[] = []
  await waitFor(
    async () => {
      found = (await stored()).filter((path) => !known.includes(path))
      return found.length === 0
    },
    () => `left behind: ${found.join(' ')}`,
  )
}

const slugs = (kind: string) => `video-content-range-${kind}`

// --- headers

test('a range that cannot be right by itself is refused by name', async () => {
  const videoId = await newVideo()
  const known = await stored()
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
    [`bytes 0-${piece - 2}/${2 * piece}`, 'by-bytes-range-too-small'],
    ['bytes 0-9/*', 'by-bytes-range-too-small'],
    ['part 0/1', 'by-part-part-zero'],
    ['part 0/*', 'by-part-part-zero'],
    ['part 1/0', 'by-part-total-parts-zero'],
    ['part 10001/*', 'by-part-part-too-high-allowed'],
    ['part 1/10001', 'by-part-total-parts-too-high'],
    ['part 3/2', 'by-part-part-too-high-total'],
  ]
  for (const [range, kind] of cases) {
    await refused(videoId, small, range, slugs(kind))
    assertProblem(
      await sendFile(delegated(await newToken()), small, { range, key: '' }),
      400,
      slugs(kind),
      'Content-Range',
    )
  }
  assert.equal((await statusOf(videoId)).ingest, null)
  await nothingNew(known)
  const { body } = await call(`${service.url}/videos`)
  assert.equal(body.pagination.itemsTotal, 1)
})

test('the words of a range may be written large and with spaces around', async () => {
  const videoId = await newVideo()
  await accepted(videoId, first, ' Part  1/2 ')
  await accepted(videoId, small, 'PART 2/2')
  await assertSource(service.data, videoId, Buffer.concat([first, small]))
})

test('an empty file is refused, whole or as any part but the last of several', async () => {
  const known = await stored()
  for (const range of [undefined, 'part 1/1', 'part 1/2', 'part 1/*', 'part 2/3']) {
    const videoId = await newVideo()
    const answer = await sendFile(sourceOf(videoId), empty, range === undefined ? {} : { range })
    assertProblem(answer, 400, 'uploaded-file-empty', 'file')
    const byToken = await sendFile(delegated(await newToken()), empty, {
      key: '',
      ...(range !== undefined && { range }),
    })
    assertProblem(byToken, 400, 'uploaded-file-empty', 'file')
  }
  await nothingNew(known)
})

test('a file that is shorter or longer than its range is refused, and its place stays free', async () => {
  const known = await stored()
  const videoId = await newVideo()
  const total = 2 * piece
  const range = `bytes 0-${piece - 1}/${total}`
  for (const content of [
    empty,
    first.subarray(1),
    Buffer.concat([first, small.subarray(0, 1)]),
    big,
    first.subarray(0, 10),
  ])
    await refused(videoId, content, range, slugs('by-bytes-range-mismatch'))
  await nothingNew(known)
  await accepted(videoId, second, `bytes ${piece}-${total - 1}/${total}`)
  await refused(videoId, big, range, slugs('by-bytes-range-mismatch'))
  await accepted(videoId, first, range)
  await assertSource(service.data, videoId, big.subarray(0, total))
})

test('a part that is too small is refused unless it is the last', async () => {
  const videoId = await newVideo()
  for (const range of ['part 1/2', 'part 1/*', 'part 2/*', 'part 2/3'])
    await refused(videoId, first.subarray(1), range, slugs('by-part-uploaded-file-too-small'))
  await accepted(videoId, first, 'part 1/2')
  await accepted(videoId, small, 'part 2/2')
  await assertSource(service.data, videoId, Buffer.concat([first, small]))
})

// --- beside what has come

test('ranges that overlap are refused, and what was there stays', async () => {
  const videoId = await newVideo()
  const total = big.length
  const overlap = slugs('by-bytes-range-overlap')
  const send = (from: number, to: number) =>
    refused(videoId, big.subarray(from, to), `bytes ${from}-${to - 1}/${total}`, overlap)
  await accepted(videoId, second, `bytes ${piece}-${2 * piece - 1}/${total}`)
  await send(0, piece + 1)
  await send(0, total)
  await send(piece, 2 * piece + 1)
  await send(piece, total)
  await send(2 * piece - 1, total)
  await send(piece - 1, 2 * piece)
  await accepted(videoId, first, `bytes 0-${piece - 1}/${total}`)
  await accepted(videoId, rest, `bytes ${2 * piece}-${total - 1}/${total}`)
  await assertSource(service.data, videoId, big)
})

test('another content in the place of a piece is refused, and the first stays', async () => {
  const videoId = await newVideo()
  await accepted(videoId, first, 'part 1/3')
  await refused(videoId, second, 'part 1/3', slugs('by-part-part-already-sent'))
  await refused(videoId, big, 'part 1/3', slugs('by-part-part-already-sent'))
  await accepted(videoId, second, 'part 2/3')
  await accepted(videoId, rest, 'part 3/3')
  await refused(videoId, second, 'part 3/3', slugs('by-part-part-already-sent'))
  await assertSource(service.data, videoId, big)

  const bytes = await newVideo()
  const range = `bytes 0-${piece - 1}/${big.length}`
  await accepted(bytes, first, range)
  await refused(bytes, second, range, slugs('by-bytes-range-overlap'))
})

test('a total that changes is refused, also on a piece that is there already', async () => {
  const parts = await newVideo()
  await accepted(parts, first, 'part 1/3')
  await refused(parts, second, 'part 2/4', slugs('by-part-different-total-parts'))
  await refused(parts, second, 'part 2/2', slugs('by-part-different-total-parts'))
  await refused(parts, first, 'part 1/2', slugs('by-part-different-total-parts'))
  const bytes = await newVideo()
  await accepted(bytes, first, `bytes 0-${piece - 1}/${big.length}`)
  const range = `bytes ${piece}-${2 * piece - 1}`
  await refused(bytes, second, `${range}/${big.length + 1}`, slugs('by-bytes-different-total-bytes'))
  await refused(bytes, second, `${range}/${2 * piece}`, slugs('by-bytes-different-total-bytes'))
})

test('a total below what has come is refused', async () => {
  const parts = await newVideo()
  await accepted(parts, first, 'part 3/*')
  await refused(parts, second, 'part 1/2', slugs('by-part-total-parts-too-low'))
  await accepted(parts, second, 'part 1/3')
  const bytes = await newVideo()
  await accepted(bytes, first, `bytes ${2 * piece}-${3 * piece - 1}/*`)
  await refused(bytes, second, `bytes 0-${piece - 1}/${3 * piece - 1}`, slugs('by-bytes-total-bytes-too-low'))
  await accepted(bytes, second, `bytes 0-${piece - 1}/${3 * piece}`)
})

test('a piece after the end is refused', async () => {
  const parts = await newVideo()
  await accepted(parts, first, 'part 1/2')
  await refused(parts, second, 'part 3/*', slugs('by-part-part-too-high-total'))
  const bytes = await newVideo()
  await accepted(bytes, first, `bytes 0-${piece - 1}/${2 * piece}`)
  const range = `bytes ${piece}-${2 * piece}/*`
  await refused(bytes, big.subarray(0, piece + 1), range, slugs('by-bytes-to-byte-too-high-total'))
})

test('an upload goes on in the form in which it began', async () => {
  const parts = await newVideo()
  await accepted(parts, first, 'part 1/2')
  await refused(parts, second, `bytes ${piece}-${2 * piece - 1}/${2 * piece}`, slugs('started-with-part'))
  await refused(parts, small, undefined, slugs('already-initiated'))
  await accepted(parts, second, 'part 2/2')
  await assertSource(service.data, parts, big.subarray(0, 2 * piece))
  const bytes = await newVideo()
  await accepted(bytes, first, `bytes 0-${piece - 1}/${2 * piece}`)
  await refused(bytes, second, 'part 2/2', slugs('started-with-bytes'))
  await refused(bytes, small, undefined, slugs('already-initiated'))
})

test('totals that contradict each other in requests at once do not both count', async () => {
  for (const [slow, slowFile, quick, quickFile] of [
    ['part 1/1', first, 'part 2/*', second],
    ['part 1/2', first, 'part 3/*', second],
    ['part 1/2', first, 'part 2/3', second],
    [`bytes 0-${piece - 1}/${piece}`, first, `bytes ${piece}-${2 * piece - 1}/*`, second],
    [`bytes 0-${piece - 1}/${2 * piece}`, first, `bytes ${piece}-${2 * piece - 1}/${2 * piece + 1}`, second],
  ] as const) {
    const videoId = await newVideo()
    const upload = openUpload(sourceOf(videoId), slowFile, { range: slow })
    await upload.write(2 * MiB)
    await waitFor(
      async () =>
        (await query(service.database, 'select from source_pieces where video_id = $1', [videoId])).length ===
        1,
    )
    const other = await sendFile(sourceOf(videoId), quickFile, { range: quick })
    const one = await upload.end()
    assert.deepEqual([one.status, other.status].sort(), [201, 400], `${slow} beside ${quick}`)
  }
})

// --- the video

test('a video that has its content takes no other', async () => {
  const uploaded = await newVideo()
  const bound = await boundToken(uploaded)
  await accepted(uploaded, small)
  const already = 'video-source-already-uploaded'
  await refused(uploaded, first, undefined, already)
  await refused(uploaded, first, 'part 1/2', already)
  await refused(uploaded, first, `bytes 0-${piece - 1}/*`, already)
  assertProblem(
    await sendFile(delegated(bound), first, { key: '', after: { videoId: uploaded } }),
    400,
    already,
  )
  await assertSource(service.data, uploaded, small)

  const chunked = await newVideo()
  await accepted(chunked, small, 'part 1/1')
  await refused(chunked, first, undefined, already)
  await refused(chunked, second, 'part 2/2', already)
  await assertSource(service.data, chunked, small)

  // Private addresses are refused here: it stays a video whose content comes from elsewhere.
  const fetched = await newVideo({ title: 'Fetched', source: 'http://127.0.0.1:9/film.mp4' })
  await refused(fetched, small, undefined, 'video-source-already-downloaded')
  await refused(fetched, first, 'part 1/2', 'video-source-already-downloaded')
  const clone = await newVideo({ title: 'Clone', source: uploaded })
  await refused(clone, first, undefined, 'video-source-already-copied')
})

test('a video that does not exist, or is of the other environment, is not found', async () => {
  const videoId = await newVideo()
  const absent = 'vi0000000000000000000000'
  const known = await stored()
  for (const id of [absent, 'nonsense', `${videoId}x`])
    assertProblem(await sendFile(sourceOf(id), small), 404, 'resource-not-found', 'videoId')
  assertProblem(
    await sendFile(`${service.url}/sandbox/videos/${videoId}/source`, small, { key: sandboxKey }),
    404,
    'resource-not-found',
    'videoId',
  )
  const sandboxToken = await newToken('/sandbox', sandboxKey)
  const inSandbox = ['/sandbox', ''].map((base) => `${service.url}${base}/upload?token=${sandboxToken}`)
  for (const place of ['before', 'after'] as const) {
    for (const id of [absent, 'x'.repeat(1000), '../..']) {
      const answer = await sendFile(delegated(await newToken()), small, { key: '', [place]: { videoId: id } })
      assertProblem(answer, 404, 'resource-not-found', 'videoId')
    }
    for (const address of inSandbox) {
      const foreign = await sendFile(address, small, { key: '', [place]: { videoId } })
      assertProblem(foreign, 404, 'resource-not-found', 'videoId')
    }
  }
  assert.equal((await statusOf(videoId)).ingest, null)
  await nothingNew(known)
})

test('a token that is missing, made up or of production and sent to the sandbox is refused before the file is read', async () => {
  const known = await stored()
  const invalid = 'authentication-invalid-upload-token'
  assertProblem(await sendFile(`${service.url}/upload`, small), 401, 'authentication-missing-upload-token')
  for (const token of ['nonsense', 'to0000000000000000000000', '%00', "'"])
    assertProblem(await sendFile(delegated(token), small, { key: '' }), 401, invalid)
  const foreign = `${service.url}/sandbox/upload?token=${await newToken()}`
  assertProblem(await sendFile(foreign, small, { key: '' }), 401, invalid)
  assertProblem(
    await sendFile(sourceOf(await newVideo()), small, { key: '' }),
    401,
    'authentication-missing-authorization-header',
  )
  await nothingNew(known)
})

test('a later part by token that belongs to no upload is refused: another name, another token, nothing begun', async () => {
  const known = await stored()
  const [token, other] = [await newToken(), await newToken()]
  const send = (token: string, content: Buffer, options: FileOptions) =>
    sendFile(delegated(token), content, { key: '', ...options })
  const lost = (answer: Answer) => assertProblem(answer, 400, 'attribute-required', 'videoId')
  lost(await send(token, second, { range: 'part 2/2' }))
  lost(await send(token, second, { range: `bytes ${piece}-${2 * piece - 1}/${2 * piece}` }))
  await nothingNew(known)
  const begun = await send(token, first, { range: 'part 1/2', filename: 'a.mp4' })
  assert.equal(begun.status, 201)
  lost(await send(token, second, { range: 'part 2/2', filename: 'b.mp4' }))
  lost(await send(other, second, { range: 'part 2/2', filename: 'a.mp4' }))
  lost(await send(token, second, { range: 'part 2/3', filename: 'a.mp4' }))
  const ended = await send(token, second, { range: 'part 2/2', filename: 'a.mp4' })
  assert.deepEqual([ended.status, ended.body.videoId], [201, begun.body.videoId])
  lost(await send(token, second, { range: 'part 2/2', filename: 'a.mp4' }))
  await assertSource(service.data, begun.body.videoId, big.subarray(0, 2 * piece))
})

test('two whole uploads at once into one video: one of them wins, whole', async () => {
  const [a, b] = [randomBytes(2 * MiB), randomBytes(2 * MiB + 5)]
  for (let round = 0; round < 4; round++) {
    const videoId = await newVideo()
    const answers = await Promise.all([a, b].map((content) => sendFile(sourceOf(videoId), content)))
    const winner = answers[0]!.status === 201 ? 0 : 1
    assert.equal(answers[winner]!.status, 201, answers[winner]!.text)
    assertProblem(answers[1 - winner]!, 400, 'video-source-already-uploaded')
    await assertSource(service.data, videoId, [a, b][winner]!)
  }
})

test('a slow whole upload holds its place, and the other one gets its turn when the first breaks off', async () => {
  const videoId = await newVideo()
  const slow = openUpload(sourceOf(videoId), big)
  await slow.write(3 * MiB)
  await waitFor(
    async () =>
      (await query(service.database, 'select from source_pieces where video_id = $1', [videoId])).length ===
      1,
  )
  const other = sendFile(sourceOf(videoId), second)
  await slow.abort()
  assert.equal((await other).status, 201)
  await assertSource(service.data, videoId, second)
})

// --- aborted requests

test('an aborted request leaves nothing: no piece in the status, no file', async () => {
  const known = await stored()
  for (const range of [undefined, 'part 1/2', 'part 2/*', `bytes 0-${big.length - 1}/${big.length}`]) {
    const videoId = await newVideo()
    const upload = openUpload(sourceOf(videoId), big, range === undefined ? {} : { range })
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
    const { ingest } = await statusOf(videoId)
    assert.deepEqual(ingest?.receivedParts.parts ?? [], [])
    assert.deepEqual(ingest?.receivedBytes ?? [], [])
    assert.equal(ingest?.filesize ?? null, null)
  }
  const byToken = openUpload(delegated(await newToken()), big, { key: '' })
  await byToken.write(4 * MiB)
  await waitFor(async () => (await stored()).some((path) => !known.includes(path)))
  await byToken.abort()
  await nothingNew(known)
  const rows = await query(service.database, 'select from videos')
  assert.equal(rows.length, 4)
})

test('after an aborted or refused first request the upload may begin in another form', async () => {
  const aborted = await newVideo()
  const upload = openUpload(sourceOf(aborted), big)
  await upload.write(2 * MiB)
  const held = async () =>
    (await query(service.database, 'select from source_pieces where video_id = $1', [aborted])).length
  await waitFor(async () => (await held()) === 1)
  await upload.abort()
  await waitFor(async () => (await held()) === 0)
  await accepted(aborted, first, 'part 1/2')
  await accepted(aborted, second, 'part 2/2')
  await assertSource(service.data, aborted, big.subarray(0, 2 * piece))

  const tooSmall = await newVideo()
  await refused(tooSmall, small, 'part 1/2', slugs('by-part-uploaded-file-too-small'))
  await accepted(tooSmall, small)
  await assertSource(service.data, tooSmall, small)
})

test('a container whose first request was aborted or refused has received nothing: its ingest is null', async () => {
  const videoId = await newVideo()
  await refused(videoId, empty, undefined, 'uploaded-file-empty')
  assert.equal((await statusOf(videoId)).ingest, null)
})

test('a piece whose request was aborted can be sent again at once', async () => {
  const videoId = await newVideo()
  await accepted(videoId, first, 'part 1/2')
  const upload = openUpload(sourceOf(videoId), second, { range: 'part 2/2' })
  await upload.write(3 * MiB)
  await upload.abort()
  await accepted(videoId, second, 'part 2/2')
  await assertSource(service.data, videoId, big.subarray(0, 2 * piece))
})

// --- bodies

const posted = (videoId: string, body: Buffer | string, contentType: string) =>
  callRaw(service.url, `/videos/${videoId}/source`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${productionKey}:`)}`, 'content-type': contentType },
    body,
  })

test('a body that is no form, or a form without a usable file, is refused and leaves nothing', async () => {
  const known = await stored()
  const videoId = await newVideo()
  const form = 'multipart/form-data; boundary=b'
  const file = { name: 'file', filename: 'a', content: small }
  const many = Array.from({ length: 30 }, (_, i) => ({ name: `f${i}`, content: 'x' }))
  const cases: [what: string, body: Buffer | string, type: string, slug: string, name?: string][] = [
    ['JSON', '{}', 'application/json', 'invalid-payload'],
    ['bytes', small, 'application/octet-stream', 'invalid-payload'],
    ['a web form', 'a=b', 'application/x-www-form-urlencoded', 'invalid-payload'],
    ['multipart of another kind', formBody([file], 'b'), 'multipart/mixed; boundary=b', 'invalid-payload'],
    ['no boundary', formBody([file], 'b'), 'multipart/form-data', 'invalid-payload'],
    ['no file', formBody([{ name: 'title', content: 'x' }], 'b'), form, 'uploaded-file-no-file', 'file'],
    ['nothing', formBody([], 'b'), form, 'uploaded-file-no-file', 'file'],
    [
      'two files',
      formBody([file, { ...file, name: 'b' }], 'b'),
      form,
      'uploaded-file-multiple-files',
      'file',
    ],
    ['fields without end before', formBody([...many, file], 'b'), form, 'invalid-payload'],
    ['fields without end after', formBody([file, ...many], 'b'), form, 'invalid-payload'],
  ]
  for (const [what, body, type, slug, name] of cases) {
    const answer = await posted(videoId, body, type)
    assert.equal(answer.status, 400, `${what}: ${answer.status} ${answer.text}`)
    assertProblem(answer, 400, slug, name)
  }
  const whole = formBody([file], 'b')
  for (const [what, body] of [
    ['an empty body', Buffer.alloc(0)],
    ['another boundary', formBody([file], 'c')],
    ['a body that ends in the file', whole.subarray(0, whole.length - 20)],
    ['a body that ends in the last boundary', whole.subarray(0, whole.length - 4)],
    ['a body that ends in a header', whole.subarray(0, 30)],
    ['noise', randomBytes(100_000)],
  ] as const) {
    const answer = await posted(videoId, body, form)
    assert.equal(answer.status, 400, `${what}: ${answer.status} ${answer.text}`)
  }
  const { ingest } = await statusOf(videoId)
  assert.notEqual(ingest?.status, 'uploaded')
  await nothingNew(known)
  await accepted(videoId, small)
  await assertSource(service.data, videoId, small)
})

test('a file behind which the body is garbled does not count', async () => {
  const known = await stored()
  const two = formBody(
    [
      { name: 'a', filename: 'a', content: first },
      { name: 'b', filename: 'b', content: second },
    ],
    'b',
  )
  for (const token of [true, false]) {
    const videoId = await newVideo()
    const path = token ? `/upload?token=${await newToken()}` : `/videos/${videoId}/source`
    const answer = await callRaw(service.url, path, {
      method: 'POST',
      headers: {
        'content-type': 'multipart/form-data; boundary=b',
        ...(!token && { authorization: `Basic ${btoa(`${productionKey}:`)}` }),
      },
      body: two,
    })
    assertProblem(answer, 400, 'uploaded-file-multiple-files', 'file')
    assert.notEqual((await statusOf(videoId)).ingest?.status, 'uploaded')
  }
  assert.equal((await query(service.database, 'select from videos')).length, 2)
  await nothingNew(known)
})

test('a body that is shorter than its length, with the connection closed, does not count', async () => {
  const videoId = await newVideo()
  const whole = formBody([{ name: 'file', filename: 'a', content: first }], 'b')
  const upload = openUpload(sourceOf(videoId), first, { headers: {} })
  await upload.write(whole.length - 100)
  await upload.abort()
  await waitFor(
    async () =>
      (await query(service.database, 'select from source_pieces where video_id = $1', [videoId])).length ===
      0,
  )
  assert.notEqual((await statusOf(videoId)).ingest?.status, 'uploaded')
})

test('a client that waits for 100-continue gets it, and a refused one is answered without its body', async () => {
  const videoId = await newVideo()
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
  const answer = await sendRaw(service.url, text)
  assert.match(answer, /^HTTP\/1\.1 100 [\s\S]*HTTP\/1\.1 201 /)
  await assertSource(service.data, videoId, small)
})

test('a refused upload of much content is answered at once or after its body, never with a broken connection', async () => {
  const filled = await newVideo()
  await accepted(filled, small)
  for (let n = 0; n < 3; n++) {
    await refused(filled, big, undefined, 'video-source-already-uploaded')
    assertProblem(
      await sendFile(sourceOf('vi0000000000000000000000'), big),
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

test('the service has logged no error in all of this', () => {
  assert.doesNotMatch(service.output(), /request failed|"level":"(error|fatal)"/)
})
