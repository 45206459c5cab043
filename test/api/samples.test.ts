import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { inspect, promisify } from 'node:util'
import { exampleId, exampleSecret } from '../../server/lib/fields.ts'
import { call, productionKey, sharedKinora, temporaryFolder } from '../support/harness.ts'
import { onePixel } from '../support/media/one-pixel.ts'

// The code samples of the API page, run as a reader would run them.

const service = sharedKinora({ KINORA_ROLES: 'api' })
type Operation = { operationId: string; 'x-codeSamples': { label: string; source: string }[] }
type Samples = Map<string, Map<string, string>>

/** The samples of each operation, by language. */
async function readSamples(): Promise<Samples> {
  const { body } = await call(`${service.url}/docs/openapi.json`, { key: '' })
  const operations = Object.values<Record<string, Operation>>(body.paths).flatMap((each) =>
    Object.values(each),
  )
  return new Map(
    operations.map((operation) => [
      operation.operationId,
      new Map(operation['x-codeSamples'].map(({ label, source }) => [label, source])),
    ]),
  )
}

type Run = (source: string, folder: string, t: TestContext) => Promise<string>

/** Runs a sample as a program. */
const program =
  (command: string, file: string): Run =>
  async (source, folder) => {
    await writeFile(join(folder, file), source)
    const env = { ...process.env, KINORA_KEY: productionKey }
    return (await promisify(execFile)(command, [file], { cwd: folder, env })).stdout
  }

/** Runs a sample in this process, because starting Node takes longer than everything else. */
const inThisProcess: Run = async (source, folder, t) => {
  const file = join(folder, `${randomUUID()}.mjs`)
  await writeFile(file, source)
  const [before, key] = [process.cwd(), process.env.KINORA_KEY]
  process.chdir(folder)
  process.env.KINORA_KEY = productionKey
  const print = t.mock.method(console, 'log', () => {})
  try {
    await import(file)
    return print.mock.calls.map((each) => inspect(each.arguments, { depth: null })).join('\n')
  } finally {
    print.mock.restore()
    process.chdir(before)
    if (key === undefined) delete process.env.KINORA_KEY
    else process.env.KINORA_KEY = key
  }
}

const languages: Record<string, { command: string; run: Run }> = {
  curl: { command: 'curl', run: program('sh', 'sample.sh') },
  Node: { command: process.execPath, run: inThisProcess },
  Python: { command: 'python3', run: program('python3', 'sample.py') },
  PHP: { command: 'php', run: program('php', 'sample.php') },
}

/** Returns a function that runs a sample with the ids of this run and returns what it prints. */
async function prepare(t: TestContext, language: string) {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'video.mp4'), 'not really a video')
  await writeFile(join(folder, 'captions.vtt'), 'WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n')
  const samples = await readSamples()

  const runSample = async (operationId: string, ids: Record<string, string> = {}): Promise<string> => {
    let source = samples.get(operationId)?.get(language)
    assert.ok(source, operationId)
    for (const [example, id] of Object.entries(ids)) source = source.replaceAll(example, id)
    const printed = await languages[language]!.run(source, folder, t)
    // curl and PHP also succeed if the response is an error.
    assert.doesNotMatch(printed, /\/docs\/errors\/|HTTP\/1\.1 [45]/, `${language} ${operationId}`)
    return printed
  }
  return { runSample, folder }
}

/** Not every machine has all languages. */
const needs = (command: string) => ({
  skip: spawnSync(command, ['--version']).error !== undefined && `${command} is not installed`,
})

const firstMatch = (text: string, pattern: RegExp) => {
  const [found] = pattern.exec(text) ?? []
  assert.ok(found, `${pattern} in ${text}`)
  return found
}

for (const [language, { command }] of Object.entries(languages)) {
  test(
    `the samples in ${language} create, upload, find, change and delete a video`,
    needs(command),
    async (t) => {
      const { runSample } = await prepare(t, language)
      const videoId = firstMatch(await runSample('POST-video'), /\bvi[0-9A-Za-z]{22}\b/)
      const ids = { [exampleId('vi')]: videoId }
      await runSample('POST_videos-videoId-source', ids)
      assert.match(await runSample('PATCH-video', ids), /A better title/)
      assert.match(await runSample('LIST-videos'), /A better title/)
      await runSample('DELETE-video', ids)
      assert.equal((await call(`${service.url}/videos/${videoId}`)).status, 404)
    },
  )
}

for (const language of ['curl', 'Node'])
  test(
    `the samples in ${language} upload captions, use tokens, tus and webhooks`,
    needs(languages[language]!.command),
    async (t) => {
      const { runSample } = await prepare(t, language)
      const videoId = firstMatch(await runSample('POST-video'), /\bvi[0-9A-Za-z]{22}\b/)
      const ids = { [exampleId('vi')]: videoId }
      await runSample('POST_videos-videoId-captions-language', ids)
      assert.match(await runSample('GET_videos-videoId-captions', ids), /English/)
      assert.match(await runSample('GET-video-status', ids), /playable/)
      const token = firstMatch(await runSample('POST_upload-tokens'), /\bto[0-9A-Za-z]{22}\b/)
      await runSample('POST_upload', { [exampleId('to')]: token })
      await runSample('POST_auth-api-key', { [exampleSecret]: productionKey })
      const webhookId = firstMatch(await runSample('POST-webhooks'), /webhook_[0-9A-Za-z]{22}/)
      assert.match(await runSample('LIST-webhooks'), new RegExp(webhookId))
      await runSample('DELETE-webhook', { [exampleId('webhook_')]: webhookId })
      const upload = firstMatch(await runSample('POST_tus'), /vi[0-9A-Za-z]{22}-[0-9a-f]+/)
      const uploadId = { [`${exampleId('vi')}-${exampleId('')}`]: upload }
      assert.match(await runSample('PATCH_tus-uploadId', uploadId), /upload-offset/i)
      assert.match(await runSample('HEAD_tus-uploadId', uploadId), /upload-offset/i)
    },
  )

for (const [language, { command }] of Object.entries(languages))
  test(`the samples in ${language} upload a watermark and save its image`, needs(command), async (t) => {
    const { runSample, folder } = await prepare(t, language)
    const file = join(folder, 'watermark.png')
    await writeFile(file, onePixel)
    const id = firstMatch(await runSample('POST_watermark'), /\bwatermark_[0-9A-Za-z]{22}\b/)
    await writeFile(file, '')
    await runSample('GET_watermark-image', { [exampleId('watermark_')]: id })
    assert.ok((await readFile(file)).includes('PNG'))
  })

test('every operation has a sample in every language, without gaps', async () => {
  const samples = await readSamples()
  assert.ok(samples.size >= 80)
  for (const [operationId, sources] of samples) {
    assert.deepEqual([...sources.keys()], ['curl', 'Node', 'Python', 'PHP', 'Go'], operationId)
    for (const source of sources.values()) {
      assert.ok(source.includes(service.url), operationId)
      assert.doesNotMatch(source, /undefined|\[object/, operationId)
    }
  }
})
