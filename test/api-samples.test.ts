import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { exampleId, exampleSecret } from '../server/lib/fields.ts'
import { call, productionKey, sharedKinora, temporaryFolder } from './harness.ts'

// The code samples of the API page, run as a reader would run them.

const service = sharedKinora({ KINORA_ROLES: 'api' })
const run = promisify(execFile)
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

const languages: Record<string, { file: string; command: string[] }> = {
  curl: { file: 'sample.sh', command: ['sh'] },
  Node: { file: 'sample.mjs', command: [process.execPath] },
  Python: { file: 'sample.py', command: ['python3'] },
  PHP: { file: 'sample.php', command: ['php'] },
}

/** Returns a function that runs a sample with the ids of this run and returns what it prints. */
async function prepare(t: TestContext, language: string) {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'video.mp4'), 'not really a video')
  await writeFile(join(folder, 'captions.vtt'), 'WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n')
  const samples = await readSamples()
  const { file, command } = languages[language]!
  const [program, ...args] = command
  const env = { ...process.env, KINORA_KEY: productionKey }

  return async (operationId: string, ids: Record<string, string> = {}): Promise<string> => {
    let source = samples.get(operationId)?.get(language)
    assert.ok(source, operationId)
    for (const [example, id] of Object.entries(ids)) source = source.replaceAll(example, id)
    await writeFile(join(folder, file), source)
    const { stdout } = await run(program!, [...args, file], { cwd: folder, env })
    // curl and PHP also succeed if the response is an error.
    assert.doesNotMatch(stdout, /\/docs\/errors\/|HTTP\/1\.1 [45]/, `${language} ${operationId}`)
    return stdout
  }
}

const firstMatch = (text: string, pattern: RegExp) => {
  const [found] = pattern.exec(text) ?? []
  assert.ok(found, `${pattern} in ${text}`)
  return found
}

for (const [language, { command }] of Object.entries(languages)) {
  // Not every machine has all languages.
  const isMissing = spawnSync(command[0]!, ['--version']).error !== undefined
  const skip = isMissing && `${command[0]} is not installed`
  test(`the samples in ${language} create, upload, find, change and delete a video`, { skip }, async (t) => {
    const runSample = await prepare(t, language)
    const videoId = firstMatch(await runSample('POST-video'), /\bvi[0-9A-Za-z]{22}\b/)
    const ids = { [exampleId('vi')]: videoId }
    await runSample('POST_videos-videoId-source', ids)
    assert.match(await runSample('GET-video-status', ids), /uploaded/)
    assert.match(await runSample('PATCH-video', ids), /A better title/)
    assert.match(await runSample('LIST-videos'), /A better title/)
    await runSample('POST_videos-videoId-captions-language', ids)
    const token = firstMatch(await runSample('POST_upload-tokens'), /\bto[0-9A-Za-z]{22}\b/)
    await runSample('POST_upload', { [exampleId('to')]: token })
    await runSample('POST_auth-api-key', { [exampleSecret]: productionKey })
    await runSample('DELETE-video', ids)
    assert.equal((await call(`${service.url}/videos/${videoId}`)).status, 404)
  })
}

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
