import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { after, before, beforeEach, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { providePassword } from '../../server/dashboard/provide-password.ts'
import { openDb, openPool } from '../../server/lib/db.ts'
import type { Tables } from '../../server/tables.ts'
import { cookieOf, createLink, type Dashboard, logIn, openDashboard } from '../support/browser/dashboard.ts'
import {
  type ApiResponse,
  assertProblem,
  call,
  callRaw,
  createDatabase,
  type Kinora,
  productionKey,
  query,
  runKinora,
  sandboxKey,
  sendFile,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'

const password = 'correct horse'
const service = { url: '', database: '', data: '' }
/** Another process on the same database. */
let other: Kinora
let firstOutput = ''

const ends: (() => unknown)[] = []
before(async () => {
  const cleanup = { after: (end: () => unknown) => ends.push(end) }
  const database = await createDatabase(cleanup)
  await query(database, 'delete from login_links')
  const data = await temporaryFolder(cleanup)
  const env = {
    KINORA_DATABASE_URL: database,
    KINORA_DATA_DIR: data,
    KINORA_PRODUCTION_KEY: productionKey,
    KINORA_SANDBOX_KEY: sandboxKey,
    KINORA_LOG_LEVEL: 'info',
    KINORA_ROLES: 'api',
    KINORA_TRUST_PROXY: '127.0.0.1',
    KINORA_ALLOWED_HOSTS: 'other.example, proxy.example',
  }
  const first = await startKinora(env)
  ends.unshift(() => first.stop())
  other = await startKinora(env)
  ends.unshift(() => other.stop())
  Object.assign(service, { url: first.url, database, data })
  firstOutput = first.output()
})
after(async () => {
  for (const end of ends) await end()
})
beforeEach(() =>
  query(
    service.database,
    'delete from dashboard_sessions; delete from login_attempts; delete from admin_password; delete from all_videos',
  ),
)

let addresses = 0
/** Attempts to log in count by address. */
const fromNewAddress = () => ({ 'x-forwarded-for': `192.0.2.${++addresses}` })

const post = (
  path: string,
  json: unknown,
  headers: Record<string, string> = fromNewAddress(),
  url = service.url,
) => call(url + path, { method: 'POST', key: '', json, headers })
const logInWith = (password: unknown, headers?: Record<string, string>, url?: string) =>
  post('/dashboard/login', { password }, headers, url)
const useLink = (token: unknown, headers?: Record<string, string>) =>
  post('/dashboard/login-link', { token }, headers)
const choosePassword = (dashboard: Dashboard, json: object) =>
  dashboard.call('/dashboard/password', { method: 'PUT', json, headers: fromNewAddress() })
const isLoggedIn = async ({ call }: Dashboard, url = service.url) =>
  (await call('/dashboard/session', { url })).status === 200
const count = async (table: string) =>
  Number((await query(service.database, `select count(*) from ${table}`))[0].count)

describe('the first login', () => {
  test('uses a link that the first start prints, and no other', async () => {
    const [, token] = /\/dashboard\/login#link=(\w+)\n/.exec(firstOutput) ?? []
    assert.ok(token, firstOutput)
    assert.ok(firstOutput.includes(`${service.url}/dashboard`))
    assert.ok(!other.output().includes('#link='), other.output())
    const login = await useLink(token)
    assert.equal(login.status, 200, login.text)
    const { csrfToken, expiresAt, version, rtmpUrl, ...rest } = login.body
    assert.deepEqual(rest, {
      hasPassword: false,
      passwordIsSetting: false,
      mustChoosePassword: true,
      needsCurrentPassword: false,
      publicUrl: service.url,
      rtmpsUrl: null,
      srtUrl: null,
      whipUrl: `${service.url}/whip`,
      restoreHours: 7 * 24,
      sandbox: { seconds: 30, hasWatermark: true, hours: 24 },
      canTranscribe: false,
      canSummarize: false,
    })
    assert.ok(csrfToken && version && Date.parse(expiresAt) > Date.now())
    assert.equal(rtmpUrl, null)
    assertProblem(await useLink(token), 401, 'dashboard-invalid-login-link')
  })

  test('gets a cookie that scripts, other sites and other paths do not see', async () => {
    const login = await useLink(await createLink(service.database))
    assert.match(
      login.headers.get('set-cookie')!,
      /^kinora_session=\w{43}; Max-Age=2592000; Path=\/dashboard; HttpOnly; SameSite=Strict$/,
    )
    assert.equal(login.headers.get('cache-control'), 'no-store')
    const [session] = await query(service.database, 'select * from dashboard_sessions')
    const token = cookieOf(login).split('=')[1]!
    assert.deepEqual(session.hash, createHash('sha256').update(token).digest())
    assert.ok(!JSON.stringify(session).includes(token))
  })

  test('unknown, used and expired links get the same response', async () => {
    const used = await createLink(service.database)
    await useLink(used)
    const expired = await createLink(service.database, new Date(Date.now() - 1))
    const responses = await Promise.all([used, expired, 'nonsense', 'é'].map((each) => useLink(each)))
    for (const response of responses) assertProblem(response, 401, 'dashboard-invalid-login-link')
    assert.equal(new Set(responses.map(({ text }) => text)).size, 1)
    // Two browsers that use a link at the same time: one gets in.
    const link = await createLink(service.database)
    const statuses = await Promise.all([useLink(link), useLink(link), useLink(link)])
    assert.deepEqual(statuses.map(({ status }) => status).sort(), [200, 401, 401])
  })

  test('kinora login-link prints another link', async () => {
    const env = { KINORA_DATABASE_URL: service.database, KINORA_DATA_DIR: service.data }
    const { stdout, stderr } = await runKinora(['login-link', '--json'], env)
    assert.equal(stderr, '')
    const { url, expiresAt } = JSON.parse(stdout)
    const [page, token] = url.split('#link=')
    assert.ok(
      [service.url, other.url].some((each) => page === `${each}/dashboard/login`),
      page,
    )
    assert.ok(Date.parse(expiresAt) < Date.now() + 15 * 60_000)
    assert.equal((await useLink(token)).status, 200)
  })
})

describe('the password', () => {
  test('is chosen after a login by link, works at every process, and is stored as a slow hash', async () => {
    const dashboard = await logIn(service)
    assert.equal((await choosePassword(dashboard, { password })).status, 204)
    const { body } = await dashboard.call('/dashboard/session')
    assert.deepEqual(
      [body.hasPassword, body.mustChoosePassword, body.needsCurrentPassword],
      [true, false, true],
    )
    const [stored] = await query(service.database, 'select * from admin_password')
    assert.match(stored.hash, /^scrypt\$32768\$[\w-]{22}\$[\w-]{43}$/)
    assert.equal((await logInWith(password, undefined, other.url)).status, 200)
    assertProblem(await logInWith(`${password} `), 401, 'dashboard-wrong-password')
  })

  test('an accented character is the same in both ways of writing it', async () => {
    await choosePassword(await logIn(service), { password: 'caf\u00e9 au lait' })
    assert.equal((await logInWith('cafe\u0301 au lait')).status, 200)
  })

  test('without a password, nobody can log in with one', async () => {
    for (const guess of ['null', ' ']) assertProblem(await logInWith(guess), 401, 'dashboard-wrong-password')
  })

  test('a change needs the current one, and ends all other sessions', async () => {
    const dashboard = await logIn(service)
    await choosePassword(dashboard, { password })
    const second = openDashboard(service.url, await logInWith(password))
    assertProblem(
      await choosePassword(second, { password: 'battery staple' }),
      400,
      'invalid-attribute',
      'currentPassword',
    )
    const wrong = await choosePassword(second, { password: 'battery staple', currentPassword: 'wrong' })
    assertProblem(wrong, 400, 'invalid-attribute', 'currentPassword')
    assert.ok(await isLoggedIn(dashboard))
    const right = await choosePassword(second, { password: 'battery staple', currentPassword: password })
    assert.equal(right.status, 204, right.text)
    assert.ok(await isLoggedIn(second))
    assert.ok(!(await isLoggedIn(dashboard, other.url)))
    assert.equal((await logInWith(password)).status, 401)
    assert.equal((await logInWith('battery staple')).status, 200)
  })

  test('a login that began before a change opens no session after it', async (t) => {
    await choosePassword(await logIn(service), { password })
    const client = new pg.Client(service.database)
    await client.connect()
    t.after(() => client.end())
    await client.query(`begin; update admin_password set hash = 'another'; delete from dashboard_sessions`)
    const login = logInWith(password)
    await waitFor(async () => {
      const sql = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return (await query(service.database, sql)).length > 0
    })
    await client.query('commit')
    assertProblem(await login, 401, 'dashboard-wrong-password')
    assert.equal(await count('dashboard_sessions'), 0)
  })

  test('a change and a logout everywhere end the links that were not used', async () => {
    const first = await createLink(service.database)
    const dashboard = await logIn(service)
    await choosePassword(dashboard, { password })
    assertProblem(await useLink(first), 401, 'dashboard-invalid-login-link')
    const second = await createLink(service.database)
    await dashboard.call('/dashboard/logout-everywhere', { method: 'POST' })
    assertProblem(await useLink(second), 401, 'dashboard-invalid-login-link')
    const late = await createLink(service.database, new Date(Date.now() + 365 * 24 * 3_600_000))
    assertProblem(await useLink(late), 401, 'dashboard-invalid-login-link')
  })

  test('a login by link replaces a forgotten password only for some minutes', async () => {
    await choosePassword(await logIn(service), { password })
    const dashboard = await logIn(service)
    assert.equal((await dashboard.call('/dashboard/session')).body.needsCurrentPassword, false)
    await query(service.database, 'update dashboard_sessions set password_until = now()')
    assertProblem(
      await choosePassword(dashboard, { password: 'another one' }),
      400,
      'invalid-attribute',
      'currentPassword',
    )
  })

  test('a password in the settings replaces it, and a changed or removed setting ends all sessions', async (t) => {
    const pool = openPool(service.database, () => {})
    const db = openDb<Tables>(pool)
    t.after(() => db.destroy())
    await choosePassword(await logIn(service), { password })
    for (const setting of ['from the settings', 'another setting', undefined]) {
      const dashboard = await logIn(service)
      await providePassword(db, setting, new Date())
      assert.ok(!(await isLoggedIn(dashboard)), setting)
      const login = await logInWith(setting ?? 'another setting')
      assert.equal(login.status, setting ? 200 : 401)
      // The next start has the same setting.
      await providePassword(db, setting, new Date())
      if (setting) assert.ok(await isLoggedIn(openDashboard(service.url, login)))
    }
    assert.equal((await logInWith(password)).status, 401)
  })

  test('wrong, huge and odd bodies get a clear error', async () => {
    const dashboard = await logIn(service)
    for (const value of [undefined, null, 5, ['a'], {}, '', 'a'.repeat(201), 'with \0 inside'])
      for (const send of [logInWith, (value: unknown) => choosePassword(dashboard, { password: value })]) {
        const slug = value === undefined ? 'attribute-required' : 'invalid-attribute'
        assertProblem(await send(value), 400, slug, 'password')
      }
    assertProblem(
      await choosePassword(dashboard, { password: 'short' }),
      400,
      'invalid-attribute',
      'password',
    )
    for (const path of ['/dashboard/login', '/dashboard/login-link']) {
      for (const json of [null, [], 'text', 7]) assertProblem(await post(path, json), 400, 'invalid-payload')
      const headers = { 'content-type': 'application/json', ...fromNewAddress() }
      for (const body of ['', '{"password":', '{"password":"\xff"}'])
        assertProblem(
          await callRaw(service.url, path, { method: 'POST', headers, body: Buffer.from(body, 'latin1') }),
          400,
          'invalid-payload',
        )
      assertProblem(await post(path, { password: 'a'.repeat(17_000) }), 413, 'payload-too-large')
    }
    const [{ sum }] = await query(
      service.database,
      'select coalesce(sum(attempts), 0)::int as sum from login_attempts',
    )
    assert.equal(sum, 0)
  })
})

describe('brute force', () => {
  const attempts = (subject: string, attempts: number) =>
    query(
      service.database,
      `insert into login_attempts values ($1, $2, now() + interval '5 minutes')
       on conflict (subject) do update set attempts = excluded.attempts`,
      [subject, attempts],
    )
  const assertLimited = (response: Awaited<ReturnType<typeof call>>) => {
    assertProblem(response, 429, 'too-many-requests')
    const seconds = Number(response.headers.get('retry-after'))
    assert.ok(seconds > 0 && seconds <= 900, `${seconds}`)
  }

  test('on the password is limited for each address, at all processes, also for parallel requests', async () => {
    await choosePassword(await logIn(service), { password })
    const attacker = { 'x-forwarded-for': '198.51.100.7' }
    await attempts('password 198.51.100.7', 8)
    const urls = [service.url, other.url, service.url, other.url, service.url]
    const responses = await Promise.all(urls.map((url) => logInWith('guess', attacker, url)))
    assert.deepEqual(responses.map(({ status }) => status).sort(), [401, 401, 429, 429, 429])
    assertLimited(await logInWith(password, attacker))
    assert.equal((await logInWith(password)).status, 200)
    await query(service.database, `update login_attempts set ends_at = now() where subject <> 'x'`)
    assert.equal((await logInWith(password, attacker)).status, 200)
  })

  test('an IPv6 address counts as its network', async () => {
    await attempts('password 2001:db8:1:2', 10)
    assertLimited(await logInWith('guess', { 'x-forwarded-for': '2001:db8:1:2::99' }))
    assert.equal((await logInWith('guess', { 'x-forwarded-for': '2001:db8:1:3::99' })).status, 401)
  })

  test('an address counts once, however the proxy writes it', async () => {
    await attempts('password 198.51.100.10', 10)
    for (const address of ['198.51.100.10:4001', '::FFFF:198.51.100.10', 'unknown, 198.51.100.10'])
      assertLimited(await logInWith('guess', { 'x-forwarded-for': address }))
    await attempts('password 2001:db8:0:0', 10)
    for (const address of ['2001:DB8::', '[2001:db8::]:443', '2001:0db8:0000::1', '2001:db8::1%eth0'])
      assertLimited(await logInWith('guess', { 'x-forwarded-for': address }))
  })

  test('the address of the proxy counts if the header contains no address', async () => {
    await attempts('password 127.0.0.1', 10)
    for (const text of ['unknown', 'x'.repeat(7_000), '198.51.100', '198.51.100.12, _hidden', '', ','])
      assertLimited(await logInWith('guess', { 'x-forwarded-for': text }))
  })

  test('from many addresses is limited in total, and a link still works', async () => {
    await choosePassword(await logIn(service), { password })
    await attempts('password total', 200)
    assertLimited(await logInWith(password))
    assert.ok(await isLoggedIn(await logIn(service)))
  })

  test('successful logins do not count', async () => {
    await choosePassword(await logIn(service), { password })
    const headers = { 'x-forwarded-for': '198.51.100.8' }
    await attempts('password 198.51.100.8', 9)
    for (const _ of [1, 2]) assert.equal((await logInWith(password, headers)).status, 200)
  })

  test('on the current password by a stolen session is limited', async () => {
    const dashboard = await logIn(service)
    await choosePassword(dashboard, { password })
    await attempts('password total', 200)
    assertLimited(await choosePassword(dashboard, { password: 'stolen it', currentPassword: password }))
  })

  test('on login links is limited, and does not lock out the owner of a link', async () => {
    const attacker = { 'x-forwarded-for': '198.51.100.9' }
    await attempts('link 198.51.100.9', 20)
    assertLimited(await useLink('guess', attacker))
    await attempts('link total', 10_000)
    assertLimited(await useLink('guess'))
    assert.equal((await useLink(await createLink(service.database), attacker)).status, 200)
  })

  test('counted while the clock was wrong does not lock the login', async () => {
    await choosePassword(await logIn(service), { password })
    await attempts('password total', 200)
    await query(service.database, `update login_attempts set ends_at = now() + interval '1 year'`)
    assert.equal((await logInWith(password)).status, 200)
    const [{ soon }] = await query(
      service.database,
      `select ends_at < now() + interval '1 hour' as soon from login_attempts where subject = 'password total'`,
    )
    assert.equal(soon, true)
  })
})

describe('a session', () => {
  test('cannot be forged', async () => {
    const { cookie } = await logIn(service)
    const [{ id, hash }] = await query(service.database, 'select id, hash from dashboard_sessions')
    const token = cookie.split('=')[1]!
    const forged = [
      ...['', id, hash.toString('hex'), hash.toString('base64url'), `${token}x`, token.slice(1)],
      ...[token.toLowerCase(), '%00', `"${token}" or 1=1`, 'x'.repeat(8_000)],
    ]
    for (const value of forged) {
      const headers = { cookie: `kinora_session=${value}` }
      for (const path of [
        '/dashboard/session',
        '/dashboard/api/production/videos',
        '/dashboard/changes/production',
      ])
        assertProblem(await callRaw(service.url, path, { headers }), 401, 'dashboard-session-required')
    }
    const none: Record<string, string>[] = [{}, { cookie: `Kinora_session=${token}` }, { 'x-session': token }]
    for (const headers of none)
      assertProblem(
        await callRaw(service.url, '/dashboard/system', { headers }),
        401,
        'dashboard-session-required',
      )
  })

  test('cannot be fixated: a login creates a new token and ends the session that the browser had', async () => {
    const planted = await logIn(service)
    const json = { token: await createLink(service.database) }
    const headers = { cookie: planted.cookie, ...fromNewAddress() }
    const login = await call(`${service.url}/dashboard/login-link`, {
      method: 'POST',
      key: '',
      json,
      headers,
    })
    assert.notEqual(cookieOf(login), planted.cookie)
    assert.ok(!(await isLoggedIn(planted)))
    assert.ok(await isLoggedIn(openDashboard(service.url, login)))
    const invented = { cookie: 'kinora_session=invented', ...fromNewAddress() }
    const second = await call(`${service.url}/dashboard/login-link`, {
      method: 'POST',
      key: '',
      headers: invented,
      json: { token: await createLink(service.database) },
    })
    assert.notEqual(cookieOf(second), 'kinora_session=invented')
  })

  test('ends with a logout, at every process', async () => {
    const [dashboard, second] = [await logIn(service), await logIn(service)]
    const logout = await dashboard.call('/dashboard/logout', { method: 'POST', url: other.url })
    assert.equal(logout.status, 204)
    assert.match(logout.headers.get('set-cookie')!, /^kinora_session=; Max-Age=0; Path=\/dashboard;/)
    assert.ok(!(await isLoggedIn(dashboard)))
    assert.ok(await isLoggedIn(second))
  })

  test('ends everywhere with a logout everywhere, at every process', async () => {
    const all = [await logIn(service), await logIn({ ...service, url: other.url }), await logIn(service)]
    assert.equal((await all[0]!.call('/dashboard/logout-everywhere', { method: 'POST' })).status, 204)
    for (const dashboard of all)
      for (const url of [service.url, other.url]) assert.ok(!(await isLoggedIn(dashboard, url)))
  })

  test('that ends while the body of a request arrives can change nothing', async () => {
    const { port } = new URL(service.url)
    for (const [method, path, json] of [
      ['PUT', '/dashboard/password', { password: 'of a thief' }],
      ['POST', '/dashboard/keys/production', { name: 'of a thief' }],
      ['POST', '/dashboard/api/production/videos', { title: 'of a thief' }],
    ] as const) {
      const thief = await logIn(service)
      const body = JSON.stringify(json)
      const sent = request({
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: {
          cookie: thief.cookie,
          'x-csrf-token': thief.csrfToken,
          'content-type': 'application/json',
          'content-length': body.length,
          expect: '100-continue',
        },
      })
      sent.flushHeaders()
      // The headers were checked before the body is asked for.
      await once(sent, 'continue')
      const owner = await logIn({ ...service, url: other.url })
      await owner.call('/dashboard/logout-everywhere', { method: 'POST' })
      sent.end(body)
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      response.resume()
      assert.equal(response.statusCode, 401, path)
    }
    for (const [table, condition] of [
      ['admin_password', 'true'],
      ['api_keys', `name = 'of a thief'`],
      ['all_videos', 'true'],
    ])
      assert.deepEqual(await query(service.database, `select from ${table} where ${condition}`), [])
  })

  test('that was opened while the clock was wrong ends', async () => {
    await choosePassword(await logIn(service), { password })
    const byLink = await logIn(service)
    await query(service.database, `update dashboard_sessions set password_until = now() + interval '1 year'`)
    assert.equal((await byLink.call('/dashboard/session')).body.needsCurrentPassword, true)
    await query(service.database, `update dashboard_sessions set expires_at = now() + interval '1 year'`)
    assert.ok(!(await isLoggedIn(byLink)))
  })

  test('expires, and is extended while it is used', async () => {
    const dashboard = await logIn(service)
    const fresh = await dashboard.call('/dashboard/session')
    assert.equal(fresh.headers.get('set-cookie'), null)
    await query(service.database, `update dashboard_sessions set expires_at = now() + interval '10 days'`)
    const extended = await dashboard.call('/dashboard/api/production/videos')
    assert.equal(cookieOf(extended), dashboard.cookie)
    const [{ days }] = await query(
      service.database,
      `select extract(days from expires_at - now())::int as days from dashboard_sessions`,
    )
    assert.equal(days, 29)
    await query(service.database, 'update dashboard_sessions set expires_at = now()')
    assertProblem(await dashboard.call('/dashboard/session'), 401, 'dashboard-session-required')
    assertProblem(await dashboard.call('/dashboard/api/production/videos'), 401, 'dashboard-session-required')
  })
})

describe('another site', () => {
  const attacks: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'nonsense' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://localhost' },
    { origin: 'http://localhost.evil.example' },
  ]

  test('can call nothing, with any method', async () => {
    const dashboard = await logIn(service)
    const calls: [string, string, object?][] = [
      ['GET', '/dashboard/session'],
      ['GET', '/dashboard/keys/production'],
      ['GET', '/dashboard/changes/production'],
      ['GET', '/dashboard/api/production/videos'],
      ['POST', '/dashboard/api/production/videos', { title: 'attack' }],
      ['POST', '/dashboard/api/production/tus'],
      ['POST', '/dashboard/keys/production', { name: 'attack' }],
      ['PUT', '/dashboard/password', { password: 'attacked!' }],
      ['POST', '/dashboard/logout'],
      ['POST', '/dashboard/login-link', { token: await createLink(service.database) }],
      ['POST', '/dashboard/login', { password }],
    ]
    for (const [method, path, json] of calls)
      for (const headers of attacks)
        assertProblem(
          await dashboard.call(path, { method, json, headers }),
          403,
          'dashboard-cross-site-request',
        )
    assert.equal(await count('all_videos'), 0)
    assert.equal(await count('admin_password'), 0)
    assert.ok(await isLoggedIn(dashboard))
    const own: Record<string, string>[] = [
      { 'sec-fetch-site': 'same-origin', origin: service.url },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://proxy.example', host: 'proxy.example' },
    ]
    for (const headers of own)
      assert.equal(
        (
          await callRaw(service.url, '/dashboard/session', {
            headers: { cookie: dashboard.cookie, ...headers },
          })
        ).status,
        200,
      )
  })

  test('cannot send changes without the CSRF token of the session', async () => {
    const [dashboard, second] = [await logIn(service), await logIn(service)]
    const calls: [string, string, object?][] = [
      ['POST', '/dashboard/logout'],
      ['POST', '/dashboard/logout-everywhere'],
      ['PUT', '/dashboard/password', { password: 'attacked!' }],
      ['POST', '/dashboard/keys/production', { name: 'attack' }],
      ['DELETE', '/dashboard/keys/production/key0'],
      ['POST', '/dashboard/api/production/videos', { title: 'attack' }],
      ['PATCH', '/dashboard/api/production/videos/vi0', { title: 'attack' }],
      ['POST', '/dashboard/api/production/tus'],
      ['POST', '/dashboard/api/production/nothing'],
    ]
    for (const [method, path, json] of calls)
      for (const token of ['', 'x', second.csrfToken, `${dashboard.csrfToken}x`, 'é'.repeat(43)])
        assertProblem(
          await callRaw(service.url, path, {
            method,
            headers: {
              cookie: dashboard.cookie,
              'content-type': 'application/json',
              'x-csrf-token': Buffer.from(token).toString('latin1'),
            },
            ...(json && { body: JSON.stringify(json) }),
          }),
          403,
          'dashboard-invalid-csrf-token',
        )
    assert.ok(await isLoggedIn(dashboard))
    assert.equal(await count('all_videos'), 0)
  })

  test('cannot log in a browser with a form', async () => {
    const body = JSON.stringify({ token: await createLink(service.database) })
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/json-x',
    ])
      for (const path of ['/dashboard/login', '/dashboard/login-link']) {
        const headers = { 'content-type': type }
        assertProblem(
          await callRaw(service.url, path, { method: 'POST', headers, body }),
          400,
          'invalid-payload',
        )
      }
    assert.equal(await count('dashboard_sessions'), 0)
  })

  test('gets no CORS permission', async () => {
    const { cookie } = await logIn(service)
    const origin = 'https://evil.example'
    const paths = [
      ...[
        '/dashboard',
        '/dashboard/login',
        '/dashboard/session',
        '/dashboard/assets/x.js',
        '/dashboard/nothing',
      ],
      ...['/dashboard/api/production/videos', '/dashboard/api/sandbox/tus', '/dashboard/api/nothing/videos'],
      ...['/%64ashboard/session', '//dashboard/session', '/sandbox/dashboard/session'],
    ]
    for (const path of paths)
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const asks = {
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'x-csrf-token',
        }
        const headers = { cookie, origin, ...(method === 'OPTIONS' && asks) }
        const response = await callRaw(service.url, path, { method, headers })
        const permissions = [...response.headers.keys()].filter((name) => name.startsWith('access-control'))
        assert.deepEqual(permissions, [], `${method} ${path}`)
        if (method === 'OPTIONS') assert.ok(response.status >= 400, `${path} ${response.status}`)
      }
  })

  test('cannot put the page into a frame, and the page runs only its own scripts', async () => {
    for (const path of [
      '/dashboard',
      '/dashboard/',
      '/dashboard/login',
      '/dashboard/production/videos/vi0',
    ]) {
      const { status, headers } = await call(service.url + path, {
        key: '',
        headers: { 'sec-fetch-site': 'cross-site' },
      })
      assert.equal(status, 200)
      assert.equal(headers.get('x-frame-options'), 'DENY')
      assert.equal(headers.get('referrer-policy'), 'same-origin')
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('cache-control'), 'no-cache')
      const policy = headers.get('content-security-policy')!
      for (const part of [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
      ])
        assert.ok(policy.split('; ').includes(part), policy)
    }
  })
})

describe('the API below /dashboard/api', () => {
  test('uses the session and the environment of the URL, whatever key is sent', async () => {
    const dashboard = await logIn(service)
    const json = { title: 'in the sandbox' }
    const headers = { authorization: `Bearer ${productionKey}` }
    const created = await dashboard.call('/dashboard/api/sandbox/videos', { method: 'POST', json, headers })
    assert.equal(created.status, 201, created.text)
    assert.ok(created.headers.get('x-ratelimit-remaining'))
    assert.equal(created.headers.get('cache-control'), 'no-store')
    const { videoId } = created.body
    assert.equal((await call(`${service.url}/videos/${videoId}`, { key: sandboxKey })).status, 200)
    const path = `/dashboard/api/production/videos/${videoId}`
    for (const options of [{}, { method: 'PATCH', json: {} }, { method: 'DELETE' }])
      assertProblem(await dashboard.call(path, options), 404, 'resource-not-found', 'videoId')
    for (const key of [productionKey, sandboxKey])
      assertProblem(
        await call(`${service.url}/dashboard/api/production/videos`, { key }),
        401,
        'dashboard-session-required',
      )
  })

  test('is the only place where the session is valid', async () => {
    const { cookie, csrfToken } = await logIn(service)
    const headers = { cookie, 'x-csrf-token': csrfToken }
    for (const path of [
      '/videos',
      '/sandbox/videos',
      '/webhooks',
      '/%64ashboard/api/production/videos/../../x',
    ])
      assert.ok((await callRaw(service.url, path, { headers })).status >= 400, path)
    assert.equal(
      (
        await callRaw(service.url, '/tus', {
          method: 'POST',
          headers: { ...headers, 'tus-resumable': '1.0.0', 'upload-length': '1' },
        })
      ).status,
      401,
    )
  })

  test('contains no other pages, and has no way around its prefix', async () => {
    const dashboard = await logIn(service)
    const paths = [
      ...[
        'production',
        'production/',
        'production?x=1',
        'production/metrics',
        'production/healthz',
        'production/docs',
        'production/openapi.json',
      ],
      ...[
        'production/sandbox/videos',
        'production/dashboard/session',
        'production/dashboard/api/sandbox/videos',
      ],
      ...['production/auth/api-key', 'production/upload', 'production/nothing', 'production/vod/vi0/token/x'],
      ...['PRODUCTION/videos', 'productionx/videos', 'nothing/videos', '', '../api', 'production%2Fvideos'],
    ]
    for (const path of paths)
      for (const prefix of ['/dashboard/api/', '/sandbox/dashboard/api/']) {
        const { status, text } = await callRaw(service.url, prefix + path, {
          headers: { cookie: dashboard.cookie },
        })
        assert.ok(status === 404 || status === 405, `${status} ${prefix}${path} ${text}`)
      }
    assertProblem(
      await callRaw(service.url, '/sandbox/dashboard/api/production/videos', {
        headers: { cookie: dashboard.cookie },
      }),
      404,
      'unrecognized-request-url',
    )
  })

  test('accepts files', async () => {
    const { call: send, cookie, csrfToken } = await logIn(service)
    const { body } = await send('/dashboard/api/production/videos', {
      method: 'POST',
      json: { title: 'file' },
    })
    const url = `${service.url}/dashboard/api/production/videos/${body.videoId}/source`
    const content = Buffer.from('not really a film')
    assert.equal((await sendFile(url, content, { key: '', headers: { cookie } })).status, 403)
    const headers = { cookie, 'x-csrf-token': csrfToken }
    const uploaded = await sendFile(url, content, { key: '', headers })
    assert.equal(uploaded.status, 201)
    const foreign = url.replace('production', 'sandbox')
    assert.equal((await sendFile(foreign, content, { key: '', headers })).status, 404)
  })

  test('accepts tus uploads, whose URL stays below it', async () => {
    const dashboard = await logIn(service)
    const tus = { 'tus-resumable': '1.0.0' }
    const created = await dashboard.call('/dashboard/api/production/tus', {
      method: 'POST',
      headers: { ...tus, 'upload-length': '4', 'upload-metadata': `filename ${btoa('film.mp4')}` },
    })
    assert.equal(created.status, 201, created.text)
    const location = created.headers.get('location')!
    assert.match(location, /^\/dashboard\/api\/production\/tus\/\w/)
    const patch = {
      method: 'PATCH',
      headers: { ...tus, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' },
      body: 'film',
    }
    const foreign = await dashboard.call(location.replace('production', 'sandbox'), patch)
    assert.equal(foreign.status, 404)
    assert.equal((await call(service.url + location, { ...patch, key: '' })).status, 401)
    assert.equal((await dashboard.call(location, patch)).headers.get('upload-offset'), '4')
    const videoId = created.headers.get('x-video-id')
    assert.equal((await call(`${service.url}/videos/${videoId}`)).body.title, 'film')
  })
})

describe('API keys', () => {
  test('are created, used and revoked', async () => {
    const dashboard = await logIn(service)
    const path = '/dashboard/keys/sandbox'
    const created = await dashboard.call(path, { method: 'POST', json: { name: 'my site' } })
    assert.equal(created.status, 201, created.text)
    const { key, ...view } = created.body
    assert.deepEqual(
      { ...view, keyId: '', createdAt: '' },
      { keyId: '', name: 'my site', createdAt: '', lastUsedAt: null, setting: null },
    )
    const find = async () => {
      const { body, text } = await dashboard.call(path)
      assert.ok(!text.includes(key))
      return body.data.find(({ keyId }: { keyId: string }) => keyId === view.keyId)
    }
    assert.deepEqual(await find(), view)
    const inSettings = (await dashboard.call(path)).body.data.filter(
      ({ setting }: { setting: unknown }) => setting,
    )
    assert.deepEqual(
      inSettings.map(({ setting }: { setting: string }) => setting),
      ['KINORA_SANDBOX_KEY'],
    )
    const use = (url: string) => call(`${url}/videos`, { key })
    for (const url of [service.url, other.url]) assert.equal((await use(url)).status, 200)
    await waitFor(async () => (await find()).lastUsedAt !== null)
    const foreign = await dashboard.call(`/dashboard/keys/production/${view.keyId}`, { method: 'DELETE' })
    assertProblem(foreign, 404, 'resource-not-found', 'keyId')
    const revoked = await dashboard.call(`${path}/${view.keyId}`, { method: 'DELETE' })
    assert.equal(revoked.status, 204)
    assert.equal(await find(), undefined)
    for (const url of [service.url, other.url]) await waitFor(async () => (await use(url)).status === 401)
    assertProblem(
      await dashboard.call(`${path}/${view.keyId}`, { method: 'DELETE' }),
      404,
      'resource-not-found',
      'keyId',
    )
  })

  test('have a name that is unique in their environment', async () => {
    const dashboard = await logIn(service)
    const create = (name: unknown, environment = 'production') =>
      dashboard.call(`/dashboard/keys/${environment}`, { method: 'POST', json: { name } })
    assert.equal((await create('website')).status, 201)
    assert.equal((await create('website', 'sandbox')).status, 201)
    for (const name of ['website', '', ' ', ' x', 'x ', 'a\nb', 'x'.repeat(101), 'a\0b', 5, null])
      assertProblem(await create(name), 400, 'invalid-attribute', 'name')
    assertProblem(await create(undefined), 400, 'attribute-required', 'name')
    assertProblem(await create('x', 'staging'), 404, 'resource-not-found', 'environment')
  })
})

test('the encode slots of all processes count as long as they run', async () => {
  const dashboard = await logIn(service)
  const slots = async () => (await dashboard.call('/dashboard/system')).body.encodeSlots
  assert.deepEqual(await slots(), { total: 0, busy: 0 })
  const worker = await startKinora({
    KINORA_DATABASE_URL: service.database,
    KINORA_DATA_DIR: service.data,
    KINORA_ROLES: 'worker',
    KINORA_ENCODE_SLOTS: '3',
    KINORA_PORT: '0',
  })
  // They are counted from the connection for notifications, which a busy process may have to make again.
  await waitFor(async () => isDeepStrictEqual(await slots(), { total: 3, busy: 0 }))
  await worker.kill()
  await waitFor(async () => (await slots()).total === 0)
})

test('the system page shows the settings without secrets', async () => {
  const dashboard = await logIn(service)
  // On a busy machine the check of the files can exceed its time limit.
  let response: ApiResponse | undefined
  await waitFor(async () => {
    response = await dashboard.call('/dashboard/system')
    return response.body?.health?.files !== 'unreachable'
  })
  const { status, text, body } = response!
  assert.equal(status, 200, text)
  for (const secret of [productionKey, sandboxKey, service.database]) assert.ok(!text.includes(secret))
  const find = (name: string) => body.settings.find((each: { name: string }) => each.name === name)
  const hidden = { value: null, isSecret: true, isDefault: false }
  const { meaning, ...database } = find('KINORA_DATABASE_URL')
  assert.deepEqual(database, { name: 'KINORA_DATABASE_URL', ...hidden })
  assert.ok(meaning)
  assert.deepEqual([find('KINORA_ROLES').value, find('KINORA_HOST').isDefault], ['api', true])
  assert.deepEqual(body.queue, { waiting: 0, running: 0, estimatedSeconds: 0 })
  assert.deepEqual(body.health, { database: 'reachable', files: 'reachable' })
  assert.match(body.postgres, /^\d+/)
})
