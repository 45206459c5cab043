import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SettingsError } from './lib/settings.ts'
import { effectiveSettings, readConfig, settings } from './read-config.ts'

function problemsOf(env: Record<string, string>): string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    assert.ok(error instanceof SettingsError)
    return error.problems
  }
}

test('without environment variables every setting has its default', () => {
  const config = readConfig({ PATH: '/bin' })
  assert.equal(config.host, '127.0.0.1')
  assert.equal(config.port, 8080)
  assert.deepEqual([...config.roles], ['api', 'worker', 'live'])
  assert.equal(config.databaseUrl, undefined)
  assert.equal(config.tls, undefined)
})

test('the error has one sentence for each invalid setting, which starts with its name', () => {
  const problems = problemsOf({
    KINORA_PORT: '70000',
    KINORA_ROLES: 'api,cook',
    KINORA_PUBLIC_URL: 'https://example.com/path',
    KINORA_DATABASE_URL: 'mysql://x',
    KINORA_RATE_LIMITS: 'yes',
    KINORA_SANDBOX_KEY: 'with space',
    KINORA_TLS_CERT: 'cert.pem',
    KINORA_PROT: '1',
  })
  assert.equal(problems.length, 8)
  for (const name of [
    'PORT',
    'ROLES',
    'PUBLIC_URL',
    'DATABASE_URL',
    'RATE_LIMITS',
    'SANDBOX_KEY',
    'TLS_CERT',
    'PROT',
  ]) {
    assert.equal(problems.filter((problem) => problem.startsWith(`KINORA_${name} `)).length, 1, name)
  }
})

test('both environments cannot have the same key', () => {
  const same = 'the-same-key-twice'
  assert.equal(problemsOf({ KINORA_PRODUCTION_KEY: same, KINORA_SANDBOX_KEY: same }).length, 1)
})

test('a key that can be guessed is rejected, and a command accepts the key of an older service', () => {
  const [problem, ...more] = problemsOf({ KINORA_PRODUCTION_KEY: 'abcde' })
  assert.match(problem!, /^KINORA_PRODUCTION_KEY must have at least 8 characters/)
  assert.deepEqual(more, [])
  assert.deepEqual(problemsOf({ KINORA_SANDBOX_KEY: 'x'.repeat(16), KINORA_KEY: 'abcde' }), [])
})

test('the S3 settings must be set together, except the region', () => {
  const env = {
    KINORA_S3_ENDPOINT: 'http://localhost:9000',
    KINORA_S3_BUCKET: 'videos',
    KINORA_S3_ACCESS_KEY: 'access',
    KINORA_S3_SECRET_KEY: 'secret',
  }
  assert.deepEqual(readConfig(env).s3, {
    endpoint: 'http://localhost:9000',
    bucket: 'videos',
    region: 'us-east-1',
    accessKey: 'access',
    secretKey: 'secret',
    isRedirecting: false,
  })
  assert.equal(readConfig({ KINORA_S3_REGION: 'eu-west-1' }).s3, undefined)
  assert.match(problemsOf({ KINORA_S3_REDIRECT: 'on' }).join(), /^KINORA_S3_REDIRECT needs a store/)
  assert.deepEqual(problemsOf({ ...env, KINORA_S3_REDIRECT: 'on' }), [])
  assert.match(problemsOf({ ...env, KINORA_S3_SECRET_KEY: '' }).join(), /needs KINORA_S3_SECRET_KEY too/)
  assert.match(problemsOf({ ...env, KINORA_S3_ENDPOINT: 'ftp://x' }).join(), /^KINORA_S3_ENDPOINT must[^,]*$/)
  assert.match(problemsOf({ ...env, KINORA_S3_BUCKET: 'a/b' }).join(), /^KINORA_S3_BUCKET must/)
})

test('speech is recognized by a server or a program, and URLs have no password', () => {
  const server = { KINORA_TRANSCRIPTION_URL: 'http://127.0.0.1:8000/v1/audio/transcriptions' }
  assert.deepEqual(problemsOf(server), [])
  const [problem, ...more] = problemsOf({ ...server, KINORA_WHISPER_MODEL: 'ggml-base.bin' })
  assert.match(problem!, /cannot both be set/)
  assert.deepEqual(more, [])
  for (const url of ['ftp://speech/', 'http://user:password@speech/', 'speech:8000', 'http://speech:5432/'])
    for (const name of ['KINORA_TRANSCRIPTION_URL', 'KINORA_SUMMARY_URL'])
      assert.match(problemsOf({ [name]: url })[0]!, new RegExp(`^${name} cannot be used: .+[^.]\\.$`), url)
  assert.equal(problemsOf({ KINORA_SUMMARY_KEY: 'a\nb' }).length, 1)
})

test('the reserve of the disk is a size, a percentage or nothing', () => {
  const reserveOf = (value: string) => readConfig({ KINORA_DISK_RESERVE: value }).diskReserve
  assert.equal(readConfig({}).diskReserve, undefined)
  assert.deepEqual(reserveOf('0'), { bytes: 0 })
  assert.deepEqual(reserveOf('1.5GB'), { bytes: 1.5e9 })
  assert.deepEqual(reserveOf('500MB'), { bytes: 5e8 })
  assert.deepEqual(reserveOf('2%'), { fraction: 0.02 })
  for (const value of ['5', '1 GB', '101%', '-1GB', '1GiB', '%'])
    assert.match(problemsOf({ KINORA_DISK_RESERVE: value }).join(), /^KINORA_DISK_RESERVE must be a size/)
})

test('the password of the dashboard has at least 8 characters', () => {
  const [problem] = problemsOf({ KINORA_ADMIN_PASSWORD: 'short' })
  assert.equal(problem, 'KINORA_ADMIN_PASSWORD must have 8 to 200 characters.')
  assert.equal(readConfig({ KINORA_ADMIN_PASSWORD: 'cafe\u0301 au lait' }).adminPassword, 'caf\u00e9 au lait')
})

test('effective settings contain no secrets', () => {
  const env = Object.fromEntries(Object.keys(settings).map((name) => [name, `value of ${name}`]))
  const secret = effectiveSettings(env).filter(({ isSecret }) => isSecret)
  for (const { value } of secret) assert.equal(value, null)
  assert.deepEqual(secret.map(({ name }) => name.replace('KINORA_', '')).sort(), [
    ...['ADMIN_PASSWORD', 'DATABASE_URL', 'KEY', 'PRODUCTION_KEY', 'S3_ACCESS_KEY', 'S3_SECRET_KEY'],
    ...['SANDBOX_KEY', 'SUMMARY_KEY', 'TRANSCRIPTION_KEY'],
  ])
  const [url] = effectiveSettings({
    KINORA_TRANSCRIPTION_URL: 'https://user:password@asr.example.com/v1?key=secret#x',
  }).filter(({ isDefault }) => !isDefault)
  assert.equal(url?.value, 'https://asr.example.com/v1')
})
