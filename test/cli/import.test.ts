import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { before, test } from 'node:test'
import {
  call,
  kinoraCommand,
  productionKey,
  root,
  sharedKinora,
  temporaryFolder,
} from '../support/harness.ts'
import { itemsOf } from '../support/library.ts'
import { makeClip } from '../support/media/media.ts'
import { finishImport } from '../support/services/finish-import.ts'
import { muxToken, startMux } from '../support/services/mux.ts'
import { uploadVideo, waitForEncoding } from '../support/videos.ts'

// Runs `kinora import` against real services.

const source = sharedKinora()
const target = sharedKinora({ KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })
let clip: string

before(async () => {
  clip = join(await temporaryFolder({ after() {} }), 'clip.mp4')
  await makeClip(clip, { size: '64x48', rate: '5', seconds: 1 })
})

async function environment() {
  const home = await temporaryFolder({ after() {} })
  const connection = { KINORA_URL: target.url, KINORA_KEY: productionKey }
  return { ...process.env, HOME: home, XDG_CONFIG_HOME: home, ...connection }
}

async function run(args: string[], input = '') {
  const env = await environment()
  const child = spawn(process.execPath, [kinoraCommand(), 'import', ...args], { cwd: root, env })
  child.stdin.end(input)
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, stdout, stderr }
}

const titles = async () => {
  const { body } = await call(`${target.url}/videos?sortBy=title&sortOrder=asc`)
  return body.data.map(({ title }: { title: string }) => title)
}

test('import follows an import from another Kinora, whose key comes from stdin', async () => {
  const videoId = await uploadVideo(source, clip, { title: 'Film' })
  await waitForEncoding(source, videoId)
  const from = ['kinora', '--url', source.url]
  const preview = await run([...from, '--dry-run', '--include='], `${productionKey}\n`)
  assert.match(preview.stdout, /^To import it: .* import resume import_\w+\n$/)
  assert.match(
    preview.stderr,
    /1 videos, 0\.0 hours, \d+(\.\d)? (bytes|kB); needs about .*; time not known yet/,
  )
  const done = await run([...from, '--include=', '--bandwidth', '10M'], `${productionKey}\n`)
  assert.equal(done.stdout, '1 imported, 0 failed, 0 skipped.\n')
  assert.deepEqual(await titles(), ['Film'])
  const [newest, ready] = JSON.parse((await run(['status', '--json'])).stdout)
  assert.deepEqual([newest.state, ready.state], ['completed', 'ready'])
  const csv = await run(['status', newest.importId, '--csv'])
  assert.match(csv.stdout, new RegExp(`\r\nvideo,${videoId},${videoId},Film,done,`))
  assert.match((await run(['cancel', ready.importId])).stdout, /canceled/)
  const wrong = await run(['kinora', '--url', source.url], 'wrong\n')
  assert.equal(wrong.code, 1)
  assert.match(wrong.stdout, /^The list cannot be read: .* refused the key/)
})

test('import sends the files of a folder: folders become tags, captions are added, and nothing is sent twice', async (t) => {
  const folder = join(await temporaryFolder(t), 'films')
  await mkdir(join(folder, '2026/spring'), { recursive: true })
  await copyFile(clip, join(folder, 'one.mp4'))
  await copyFile(clip, join(folder, '2026/spring/two.mp4'))
  await writeFile(join(folder, 'one.en.vtt'), 'WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n')
  await writeFile(join(folder, 'notes.txt'), 'no video')
  const preview = await run(['folder', folder, '--dry-run'])
  assert.match(preview.stdout, /2 videos, [\d.]+ kB\n$/, preview.stderr)
  assert.deepEqual(await titles(), [])
  const done = await run(['folder', folder])
  assert.equal(done.stdout, '2 imported, 0 failed, 0 skipped.\n', done.stderr)
  assert.deepEqual(await titles(), ['one', 'two'])
  const { body } = await call(`${target.url}/videos?sortBy=title&sortOrder=asc`)
  assert.deepEqual(
    body.data.map(({ tags }: { tags: string[] }) => tags),
    [[], ['2026', 'spring']],
  )
  const captions = await call(`${target.url}/videos/${body.data[0].videoId}/captions`)
  assert.deepEqual([captions.body.data.length, captions.body.data[0].srclang], [1, 'en'])
  assert.equal((await run(['folder', folder])).stdout, '0 imported, 0 failed, 2 skipped.\n')
})

test('import reads a list of URLs with metadata', async (t) => {
  const folder = await temporaryFolder(t)
  const videoId = await uploadVideo(source, clip, { title: 'Film' })
  await waitForEncoding(source, videoId)
  const file = `${source.url}/vod/${videoId}/mp4/source.mp4`
  const list = join(folder, 'list.csv')
  await writeFile(
    list,
    `url,title,tags,public,author\n${file},"One, two",a;b,no,Ada\n${file}?missing=\0,,,,\n`,
  )
  assert.match((await run(['urls', list])).stderr, /list\[1\]\[url\]/)
  await writeFile(
    list,
    `url,title,tags,public,author\n${file},"One, two",a;b,no,Ada\n${source.url}/vod/none.mp4,,,,\n`,
  )
  const { stdout, code } = await run(['urls', list])
  assert.match(stdout, /^1 imported, 1 failed, 0 skipped\. What has failed/)
  assert.equal(code, 1)
  const [video] = (await call(`${target.url}/videos?tags[]=a`)).body.data
  assert.deepEqual([video.title, video.public, video.tags], ['One, two', false, ['a', 'b']])
  assert.deepEqual(video.metadata, [{ key: 'author', value: 'Ada' }])
})

test('import asks for the token and the signing key of Mux without showing them', async (t) => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const signingKey = btoa(privateKey.export({ type: 'pkcs1', format: 'pem' }).toString())
  const track = { type: 'text', id: 'en', text_type: 'subtitles', language_code: 'en', status: 'ready' }
  const playback_ids = [{ id: 'secret', policy: 'signed' }]
  const asset = { id: 'film', status: 'ready', created_at: '1609868768', playback_ids, tracks: [track] }
  const mux = await startMux({ file: await readFile(clip), publicKey, assets: [asset] })
  t.after(mux.close)
  const secrets = [muxToken.key, muxToken.secret, 'key-id', signingKey]
  const args = ['import', 'mux', '--url', mux.url, '--detach', '--json']
  const command = [process.execPath, kinoraCommand(), ...args].join(' ')
  const env = await environment()
  const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: root, env })
  t.after(() => child.kill('SIGKILL'))
  let shown = ''
  child.stdout.on('data', (chunk) => {
    const wasAsked = shown.includes('between: ')
    shown += chunk
    if (!wasAsked && shown.includes('between: ')) child.stdin.write(`${secrets.join(' ')}\r`)
  })
  await once(child, 'close')
  assert.match(
    shown,
    /^Token id and secret of Mux, .* also the id of a signing key and the key, with a space between: /,
  )
  for (const secret of [muxToken.secret, signingKey]) {
    assert.ok(!shown.includes(secret))
    assert.ok(!target.output().includes(secret))
  }
  const importId = /import_\w+/.exec(shown)?.[0] ?? ''
  await finishImport(target, importId)
  const film = (await itemsOf(target, importId)).get('film')
  assert.deepEqual([film?.state, film?.notes], ['done', []], JSON.stringify(film))
  const { body } = await call(`${target.url}/videos/${film?.objectId}/captions`)
  assert.equal(body.data[0].srclang, 'en')
  const rest = `${muxToken.key} ${muxToken.secret} key-id`
  const half = await run(['mux', '--url', mux.url], `${rest}\n`)
  assert.equal(half.code, 1)
  assert.match(half.stderr, /signing key is missing/)
})

test('import says what is missing', async () => {
  for (const [args, message] of [
    [['nothing'], /SERVICE must be .*kinora.* or s3:\/\/bucket/],
    [['folder'], /FROM is missing, the folder/],
    [['kinora', 'x'], /unexpected/],
    [['kinora'], /"url" is required/],
    [['api.video', '--limit', '0'], /--limit must be a number/],
    [['api.video', '--bandwidth', 'fast'], /--bandwidth must be/],
  ] as [string[], RegExp][]) {
    const { stderr, code } = await run(args, 'key\n')
    assert.match(stderr, message)
    assert.notEqual(code, 0)
  }
})
