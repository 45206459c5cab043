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
    ...[
      'ADMIN_PASSWORD',
      'BACKUP_S3_ACCESS_KEY',
      'BACKUP_S3_SECRET_KEY',
      'DATABASE_DIRECT_URL',
      'DATABASE_URL',
      'KEY',
      'PRODUCTION_KEY',
      'S3_ACCESS_KEY',
      'S3_SECRET_KEY',
    ],
    ...['SANDBOX_KEY', 'SUMMARY_KEY', 'TRANSCRIPTION_KEY'],
  ])
  const [url] = effectiveSettings({
    KINORA_TRANSCRIPTION_URL: 'https://user:password@asr.example.com/v1?key=secret#x',
  }).filter(({ isDefault }) => !isDefault)
  assert.equal(url?.value, 'https://asr.example.com/v1')
})

test('a domain brings its ports, its URL and every interface', () => {
  const config = readConfig({ KINORA_DOMAIN: 'Video.Example.com., b\u00fccher.example' })
  assert.deepEqual(config.acme?.domains, ['video.example.com', 'xn--bcher-kva.example'])
  assert.match(config.host, /^(::|0\.0\.0\.0)$/)
  assert.equal(config.port, 443)
  assert.equal(config.acme?.httpPort, 80)
  assert.equal(config.publicUrl, 'https://video.example.com')
  assert.match(config.acme!.directoryUrl, /letsencrypt\.org/)
  const mapped = {
    KINORA_PORT: '8443',
    KINORA_HTTP_PORT: '8080',
    KINORA_HOST: '127.0.0.1',
    KINORA_PUBLIC_URL: '',
  }
  const { port, host, publicUrl } = readConfig({ ...mapped, KINORA_DOMAIN: 'a.example' })
  assert.deepEqual(
    { port, host, publicUrl },
    { port: 8443, host: '127.0.0.1', publicUrl: 'https://a.example' },
  )
  const shown = effectiveSettings({ KINORA_DOMAIN: 'a.example' }).find(({ name }) => name === 'KINORA_PORT')
  assert.equal(shown?.value, '443')
})

test('a worker with a domain needs no certificate and no privileged port, and has the same URLs', () => {
  const { acme, port, publicUrl } = readConfig({ KINORA_DOMAIN: 'a.example', KINORA_ROLES: 'worker' })
  assert.deepEqual({ acme, port, publicUrl }, { acme: undefined, port: 8080, publicUrl: 'https://a.example' })
})

test('a domain that cannot have a certificate is rejected', () => {
  for (const domain of [
    ...[
      'localhost',
      'a.localhost',
      '203.0.113.7',
      '2001:db8::1',
      '[::1]',
      'https://a.example',
      'a.example/x',
    ],
    ...[
      'a.example:443',
      'my_video.example.com',
      '*.example.com',
      'a..example',
      '-a.example',
      'a b.example',
      ',',
    ],
    ...['a.example,', `${'a'.repeat(64)}.example`, 'me@a.example', '1.2.3', `${'a.'.repeat(130)}example`],
  ]) {
    const [problem, ...more] = problemsOf({ KINORA_DOMAIN: domain })
    assert.match(problem ?? '', /^KINORA_DOMAIN must be a domain such as .+\.$/, domain)
    assert.deepEqual(more, [], domain)
  }
})

test('a domain excludes certificate files and URLs of other hosts', () => {
  const env = { KINORA_DOMAIN: 'a.example,b.example' }
  const files = { KINORA_TLS_CERT: 'cert.pem', KINORA_TLS_KEY: 'key.pem' }
  assert.match(
    problemsOf({ ...env, ...files }).join(),
    /^KINORA_DOMAIN and KINORA_TLS_CERT cannot both be set/,
  )
  for (const url of ['https://c.example', 'http://a.example', 'https://127.0.0.1'])
    assert.match(
      problemsOf({ ...env, KINORA_PUBLIC_URL: url }).join(),
      /^KINORA_PUBLIC_URL must be https:\/\/a/,
    )
  assert.deepEqual(problemsOf({ ...env, KINORA_PUBLIC_URL: 'https://b.example:8443' }), [])
  assert.match(problemsOf({ ...env, KINORA_ACME_EMAIL: 'me' }).join(), /^KINORA_ACME_EMAIL must be an e-mail/)
  assert.match(problemsOf({ ...env, KINORA_ACME_URL: 'http://ca.example' }).join(), /^KINORA_ACME_URL must/)
})
