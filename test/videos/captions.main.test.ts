import assert from 'node:assert/strict'
import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  type ApiResponse,
  assertProblem,
  call,
  callRaw,
  formBody,
  MiB,
  productionKey,
  query,
  runKinora,
  sandboxKey,
  sendFile,
  sharedKinora,
  temporaryFolder,
} from '../support/harness.ts'
import { withoutEncoding } from '../support/programs.ts'
import { client } from '../support/published-client.ts'
import { createVideo, media } from '../support/videos.ts'

// Captions and chapters: the API, the files and the command line.

const service = sharedKinora({ ...withoutEncoding(), KINORA_RESTORE_DAYS: '0' })
const api = (path: string) => service.url + path

const vtt = (...cues: string[]) => `WEBVTT\n\n${cues.map((cue) => `${cue}\n\n`).join('')}`
const hello = vtt('00:01.000 --> 00:02.000\nHello')
const srt = '1\r\n00:00:01,000 --> 00:00:02,000\r\nÇa va – « été »\r\n'
const srtAsVtt = vtt('00:00:01.000 --> 00:00:02.000\nÇa va – « été »')

type Kind = 'captions' | 'chapters'

const upload = (videoId: string, content: string | Buffer, language = 'en', kind: Kind = 'captions') =>
  sendFile(api(`/videos/${videoId}/${kind}/${language}`), Buffer.from(content as string))

const patch = (videoId: string, language: string, json: unknown) =>
  call(api(`/videos/${videoId}/captions/${language}`), { method: 'PATCH', json })

const fileOf = (videoId: string, language = 'en', kind: Kind = 'captions') =>
  media(service.url, videoId, `${kind}/${language}.vtt`)

test('a key of the other environment gets 404 for every operation', async () => {
  const videoId = await createVideo(service)
  assert.equal((await upload(videoId, hello)).status, 200)
  assert.equal((await upload(videoId, hello, 'en', 'chapters')).status, 200)
  for (const kind of ['captions', 'chapters'] as const) {
    const [list, one] = [`/videos/${videoId}/${kind}`, `/videos/${videoId}/${kind}/en`]
    const send = (method: string, path: string, more = {}) =>
      call(api(path), { method, key: sandboxKey, ...more })
    const responses = [
      await send('GET', list),
      await send('GET', one),
      await send('DELETE', one),
      await sendFile(api(one), Buffer.from(vtt()), { key: sandboxKey }),
      ...(kind === 'captions' ? [await send('PATCH', one, { json: { default: true } })] : []),
    ]
    for (const response of responses) assertProblem(response, 404, 'resource-not-found', 'videoId')
    assert.equal((await fileOf(videoId, 'en', kind)).text, hello)
  }
  assert.equal((await call(api(`/videos/${videoId}/captions/en`))).body.default, false)
})

test('captions and chapters load nothing from elsewhere, not even those that were stored by an earlier version', async () => {
  const style = 'STYLE\n::cue { background-image: url(https://track.example/x.png) }\n\n'
  const content = hello.replace('\n\n', `\n\n${style}`).replace('Hello', '<img src="//track.example/x">Hello')
  const videoId = await createVideo(service)
  for (const kind of ['captions', 'chapters'] as const) {
    assert.equal((await upload(videoId, content, 'en', kind)).status, 200)
    const expected = hello.replace('\n\n', '\n\n\n')
    assert.equal((await fileOf(videoId, 'en', kind)).text, expected)
    const stored = await query(service.database, 'select content from text_tracks where kind = $1', [kind])
    assert.deepEqual(stored, [{ content: expected }])
    await query(service.database, 'update text_tracks set content = $1 where kind = $2', [content, kind])
    assert.equal((await fileOf(videoId, 'en', kind)).text, expected)
  }
})

describe('the published client', () => {
  test('uploads, shows, lists, updates and deletes captions', async (t) => {
    const { captions, videos } = client(service.url)
    const { videoId } = await videos.create({ title: 'Film' })
    const path = join(await temporaryFolder(t), 'film.srt')
    await writeFile(path, srt)

    const french = await captions.upload(videoId, 'fr', path)
    assert.deepEqual(
      { ...french },
      {
        uri: `/videos/${videoId}/captions/fr`,
        src: `${service.url}/vod/${videoId}/captions/fr.vtt`,
        srclang: 'fr',
        languageName: 'Français',
        _default: false,
      },
    )
    await captions.upload(videoId, 'en', Buffer.from(hello))
    await captions.upload(videoId, 'pt-BR', createReadStream(path))
    assert.deepEqual(await captions.get(videoId, 'fr'), french)

    const { data, pagination } = await captions.list({ videoId })
    assert.deepEqual(
      data!.map(({ srclang }) => srclang),
      ['en', 'fr', 'pt-BR'],
    )
    assert.equal(pagination!.itemsTotal, 3)
    const second = await captions.list({ videoId, currentPage: 2, pageSize: 2 })
    assert.deepEqual(
      second.data!.map(({ srclang }) => srclang),
      ['pt-BR'],
    )

    assert.equal((await captions.update(videoId, 'fr', { _default: true }))._default, true)
    assert.equal((await captions.get(videoId, 'fr'))._default, true)
    await captions.delete(videoId, 'fr')
    await assert.rejects(captions.get(videoId, 'fr'), { code: 404 })
  })

  test('uploads, shows, lists and deletes chapters', async () => {
    const { chapters, videos } = client(service.url)
    const { videoId } = await videos.create({ title: 'Film' })
    const english = await chapters.upload(videoId, 'en', Buffer.from(hello))
    assert.deepEqual(
      { ...english },
      {
        uri: `/videos/${videoId}/chapters/en`,
        src: `${service.url}/vod/${videoId}/chapters/en.vtt`,
        language: 'en',
      },
    )
    assert.deepEqual(await chapters.get(videoId, 'en'), english)
    const { data, pagination } = await chapters.list({ videoId })
    assert.deepEqual([data, pagination!.itemsTotal], [[english], 1])
    // Captions and chapters are independent of each other.
    await assert.rejects(client(service.url).captions.get(videoId, 'en'), { code: 404 })
    await chapters.delete(videoId, 'en')
    await assert.rejects(chapters.delete(videoId, 'en'), { code: 404 })
  })
})

test('an upload in the same language replaces the captions, whatever the case of the tag', async () => {
  const videoId = await createVideo(service)
  await upload(videoId, hello, 'en-US')
  await patch(videoId, 'en-US', { default: true })
  const { status, body } = await upload(videoId, vtt(), 'EN-us')
  assert.deepEqual([status, body.srclang, body.default], [200, 'en-US', true])
  assert.equal((await fileOf(videoId, 'en-us')).text, vtt())
  assert.equal((await call(api(`/videos/${videoId}/captions`))).body.pagination.itemsTotal, 1)
})

describe('the default', () => {
  const defaultsOf = async (videoId: string) => {
    const { body } = await call(api(`/videos/${videoId}/captions`))
    return body.data
      .filter((each: { default: boolean }) => each.default)
      .map((each: { srclang: string }) => each.srclang)
  }

  test('one language of a video is the default, or none', async () => {
    const videoId = await createVideo(service)
    for (const language of ['en', 'fr', 'de']) await upload(videoId, hello, language)
    assert.deepEqual(await defaultsOf(videoId), [])
    await patch(videoId, 'en', { default: true })
    await patch(videoId, 'fr', { default: true })
    assert.deepEqual(await defaultsOf(videoId), ['fr'])
    // Nothing changes without the attribute, and another language does not take the default away.
    assert.equal((await patch(videoId, 'fr', {})).body.default, true)
    await patch(videoId, 'de', { default: false })
    assert.deepEqual(await defaultsOf(videoId), ['fr'])
    await patch(videoId, 'fr', { default: false })
    assert.deepEqual(await defaultsOf(videoId), [])
  })

  test('concurrent requests leave one default', async () => {
    const videoId = await createVideo(service)
    const languages = ['en', 'fr', 'de', 'it', 'es']
    for (const language of languages) await upload(videoId, hello, language)
    const responses = await Promise.all(
      languages.map((language) => patch(videoId, language, { default: true })),
    )
    assert.deepEqual(
      responses.map(({ status }) => status),
      languages.map(() => 200),
    )
    assert.equal((await defaultsOf(videoId)).length, 1)
  })

  test('an invalid value is rejected by its name', async () => {
    const videoId = await createVideo(service)
    await upload(videoId, hello)
    for (const value of ['yes', 1, null, []])
      assertProblem(await patch(videoId, 'en', { default: value }), 400, 'invalid-attribute', 'default')
    assertProblem(await patch(videoId, 'fr', { default: true }), 404, 'resource-not-found', 'language')
  })
})

describe('the file', () => {
  test('is served as it was uploaded, for one minute from caches, and to pages of any origin', async () => {
    const videoId = await createVideo(service)
    const odd = '\uFEFFWEBVTT\r\n\r\nnot a cue\r\n00:01 --> \r\n<i>malformed\r\n'
    assert.equal((await upload(videoId, odd)).status, 200)
    const { status, text, headers } = await call(api(`/vod/${videoId}/captions/en.vtt`), {
      key: '',
      headers: { origin: 'https://example.com' },
    })
    assert.deepEqual([status, text], [200, odd.slice(1)])
    assert.equal(headers.get('content-type'), 'text/vtt; charset=utf-8')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('cache-control'), 'public, max-age=60')
    assert.equal(headers.get('access-control-allow-origin'), '*')
    const known = { 'if-none-match': headers.get('etag')! }
    const again = () => call(api(`/vod/${videoId}/captions/en.vtt`), { key: '', headers: known })
    assert.equal((await again()).status, 304)
    await upload(videoId, hello)
    assert.deepEqual([(await again()).status, (await again()).text], [200, hello])
  })

  test('SRT in every encoding is served as WebVTT in UTF-8', async () => {
    const videoId = await createVideo(service)
    const withMark = `\uFEFF${srt}`
    const files = [
      Buffer.from(srt),
      Buffer.from(withMark),
      Buffer.from(withMark, 'utf16le'),
      Buffer.from(withMark, 'utf16le').swap16(),
      Buffer.from(srt.replace('–', '\x96'), 'latin1'),
    ]
    for (const [i, content] of files.entries()) {
      assert.equal((await upload(videoId, content)).status, 200)
      assert.equal((await fileOf(videoId)).text, srtAsVtt, `file ${i}`)
    }
  })

  test('does not exist for other languages, other names and deleted captions', async () => {
    const videoId = await createVideo(service)
    await upload(videoId, hello)
    assertProblem(await fileOf(videoId, 'fr'), 404, 'resource-not-found', 'language')
    assertProblem(await fileOf(videoId, 'en', 'chapters'), 404, 'resource-not-found', 'language')
    for (const name of ['en', 'en.srt', 'xx.vtt', '.vtt', '..%2Fen.vtt', 'en%00.vtt', 'en.vtt.vtt'])
      assertProblem(await media(service.url, videoId, `captions/${name}`), 404, 'unrecognized-request-url')
    const { status } = await call(api(`/videos/${videoId}/captions/en`), { method: 'DELETE' })
    assert.equal(status, 204)
    assert.equal((await fileOf(videoId)).status, 404)
  })

  test('is deleted with the video', async () => {
    const videoId = await createVideo(service)
    await upload(videoId, hello)
    await call(api(`/videos/${videoId}`), { method: 'DELETE' })
    assertProblem(await fileOf(videoId), 404, 'resource-not-found', 'videoId')
    assertProblem(await upload(videoId, hello), 404, 'resource-not-found', 'videoId')
    assert.deepEqual(await query(service.database, 'select from text_tracks'), [])
  })
})

test('captions of a private video need a token, and each response has a new one', async () => {
  const videoId = await createVideo(service, { public: false })
  const { body } = await upload(videoId, hello)
  const shown = (await call(api(`/videos/${videoId}/captions`))).body.data[0]
  assert.match(body.src, /\/vod\/vi\w+\/token\/[\w-]{36}\/captions\/en\.vtt$/)
  assert.notEqual(body.src, shown.src)
  assertProblem(await fileOf(videoId), 403, 'private-video')
  const first = await call(body.src, { key: '' })
  assert.deepEqual([first.status, first.text], [200, hello])
  assert.equal(first.headers.get('cache-control'), 'private, max-age=60')
  // The token is used up: only the viewer who used it has the session.
  assertProblem(await call(body.src, { key: '' }), 404, 'resource-not-found', 'token')
  const cookie = first.headers.get('set-cookie')!.split(';')[0]!
  assert.equal((await call(body.src, { key: '', headers: { cookie } })).status, 200)
  assertProblem(
    await call(shown.src.replace(/token\/.{4}/, 'token/0000'), { key: '' }),
    404,
    'resource-not-found',
    'token',
  )
})

describe('bad input', () => {
  test('a file that is neither WebVTT nor SRT is rejected, and the captions stay', async () => {
    const videoId = await createVideo(service)
    await upload(videoId, hello)
    const files = [
      'Just text.\n',
      ' \n\n',
      '<html><body>00:01 --> 00:02</body></html>',
      '{"captions": []}',
      'WEBVTTX\n\n',
      '[Script Info]\nScriptType: v4.00+\n\n[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,Hi\n',
      Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex'),
      Buffer.alloc(1000),
      Buffer.alloc(4 * MiB, 'x'),
    ]
    for (const kind of ['captions', 'chapters'] as const)
      for (const content of files)
        assertProblem(
          await upload(videoId, content, 'en', kind),
          400,
          'uploaded-file-extension-invalid',
          'file',
        )
    assertProblem(await upload(videoId, ''), 400, 'uploaded-file-empty', 'file')
    assert.equal((await fileOf(videoId)).text, hello)
  })

  test('a body without a file, or with two files, is rejected', async () => {
    const videoId = await createVideo(service)
    const send = (parts: Parameters<typeof formBody>[0]) => {
      const headers = {
        authorization: `Basic ${btoa(`${productionKey}:`)}`,
        'content-type': 'multipart/form-data; boundary=b',
      }
      const body = formBody(parts, 'b')
      return callRaw(service.url, `/videos/${videoId}/captions/en`, { method: 'POST', headers, body })
    }
    const file = { name: 'file', filename: 'a.vtt', content: hello }
    assertProblem(await send([{ name: 'x', content: 'y' }]), 400, 'uploaded-file-no-file', 'file')
    assertProblem(await send([file, file]), 400, 'uploaded-file-multiple-files', 'file')
    const json = await call(api(`/videos/${videoId}/captions/en`), { method: 'POST', json: {} })
    assertProblem(json, 400, 'invalid-payload')
  })

  test('a file of 100 MB is rejected after its first 4 MiB', async () => {
    const videoId = await createVideo(service)
    assert.equal((await upload(videoId, hello.padEnd(4 * MiB))).status, 200)
    const { status, text } = await sendBeginning(`/videos/${videoId}/captions/en`, 100 * MiB, 5 * MiB)
    assert.equal(status, 400, text)
    assert.match(text, /uploaded-file-too-large.*more than 4 MiB.*"name":"file"/)
  })

  test('languages that do not exist, are too long or are paths are rejected', async () => {
    const videoId = await createVideo(service)
    const languages = [
      'xx',
      'english',
      'en_US',
      'en-',
      'en-XX',
      'x',
      'und',
      'a'.repeat(90),
      '..%2F..%2Fx',
      'e%00n',
      '%20',
    ]
    for (const language of languages) {
      const path = `/videos/${videoId}/captions/${language}`
      const responses: ApiResponse[] = [
        await upload(videoId, hello, language),
        await upload(videoId, hello, language, 'chapters'),
        await call(api(path)),
        await call(api(path), { method: 'DELETE' }),
        await patch(videoId, language, { default: true }),
      ]
      for (const response of responses) assertProblem(response, 400, 'invalid-attribute', 'language')
      // The interface has no 400 here.
      const chapters = api(`/videos/${videoId}/chapters/${language}`)
      assertProblem(await call(chapters), 404, 'resource-not-found', 'language')
      assertProblem(await call(chapters, { method: 'DELETE' }), 404, 'resource-not-found', 'language')
    }
  })

  test('a video has captions in at most 200 languages', async () => {
    const videoId = await createVideo(service)
    await query(
      service.database,
      `insert into text_tracks (video_id, kind, language, id, content)
       select $1, 'captions', 'x' || n, 'x', 'WEBVTT' from generate_series(1, 199) n`,
      [videoId],
    )
    assert.equal((await upload(videoId, hello)).status, 200)
    assertProblem(await upload(videoId, hello, 'fr'), 400, 'invalid-attribute', 'language')
    assert.equal((await upload(videoId, hello)).status, 200)
    assert.equal((await upload(videoId, hello, 'fr', 'chapters')).status, 200)
  })
})

/** Announces a large file, sends its beginning and returns the response without sending the rest. */
function sendBeginning(path: string, size: number, sent: number): Promise<{ status: number; text: string }> {
  const headers = {
    authorization: `Basic ${btoa(`${productionKey}:`)}`,
    'content-type': 'multipart/form-data; boundary=b',
    'content-length': size,
  }
  return new Promise((resolve, reject) => {
    const upload = request(api(path), { method: 'POST', headers, agent: false }, async (response) => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      upload.destroy()
      resolve({ status: response.statusCode ?? 0, text })
    })
    upload.on('error', reject)
    upload.write(
      formBody([{ name: 'file', filename: 'a.vtt', content: 'WEBVTT\n'.padEnd(sent) }], 'b').subarray(
        0,
        sent,
      ),
    )
  })
}

describe('the command line', () => {
  const run = (...args: string[]) => runKinora(args, { KINORA_URL: service.url, KINORA_KEY: productionKey })

  test('adds, lists and deletes captions and chapters', async (t) => {
    const videoId = await createVideo(service)
    const path = join(await temporaryFolder(t), 'film.srt')
    await writeFile(path, srt)
    const src = (kind: Kind, language: string) => `${service.url}/vod/${videoId}/${kind}/${language}.vtt`

    const added = await run('captions', 'add', path, videoId, '--language', 'fr', '--default')
    assert.deepEqual([added.code, added.stdout, added.stderr], [0, `${src('captions', 'fr')}\n`, ''])
    assert.equal((await fileOf(videoId, 'fr')).text, srtAsVtt)
    await upload(videoId, hello, 'de')
    const listed = await run('captions', 'list', videoId)
    assert.equal(
      listed.stdout,
      `de  Deutsch  ${src('captions', 'de')}\nfr  Français  ${src('captions', 'fr')}  (default)\n`,
    )
    const deleted = await run('captions', 'delete', videoId, '-l', 'fr')
    assert.deepEqual([deleted.code, deleted.stdout], [0, 'The captions in fr were deleted.\n'])
    assert.equal((await fileOf(videoId, 'fr')).status, 404)
    const asJson = await run('captions', 'delete', videoId, '-l', 'de', '--json')
    assert.deepEqual(JSON.parse(asJson.stdout), { videoId, language: 'de', deleted: true })

    assert.equal((await run('chapters', 'list', videoId)).stdout, 'The video has no chapters.\n')
    const chapters = await run('chapters', 'add', path, videoId, '-l', 'en', '--json')
    const { body } = await call(api(`/videos/${videoId}/chapters/en`))
    assert.deepEqual(JSON.parse(chapters.stdout), body)
  })

  test('rejects what it does not understand, and passes on what the service rejects', async (t) => {
    const path = join(await temporaryFolder(t), 'film.txt')
    await writeFile(path, 'no captions')
    const videoId = await createVideo(service)
    const cases = [
      [['captions', 'add', path, '--language', 'en'], 2, /VIDEO is missing: captions add FILE VIDEO/],
      [['captions', 'add', path, videoId], 2, /--language is required/],
      [['chapters', 'add', path, videoId, '-l', 'en', '--default'], 2, /has no option --default/],
      [
        ['captions', 'add', path, videoId, '-l', 'en'],
        1,
        /responded with 400: The file is neither WebVTT nor SRT/,
      ],
      [['captions', 'delete', videoId, '-l', 'en'], 1, /responded with 404/],
    ] as const
    await Promise.all(
      cases.map(async ([args, code, expected]) => {
        const ended = await run(...args)
        assert.deepEqual([ended.code, ended.stdout], [code, ''], ended.stderr)
        assert.match(ended.stderr, expected)
      }),
    )
  })
})
