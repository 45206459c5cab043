import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { beforeEach, describe, test } from 'node:test'
import pg from 'pg'
import { call, query, settingsOf, sharedKinora, startKinora, waitFor } from '../support/harness.ts'
import { makeVideo, onDisk, pathOf, segments } from '../support/stored-video.ts'

// A segment that was just sent is sent again without the database.

async function get(url: string, headers: Record<string, string> = {}, method = 'GET') {
  const response = await fetch(url, { headers, method })
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  }
}

for (const [title, env] of [
  ['sent by the service', {}],
  ['sent by nginx', { KINORA_ACCEL_REDIRECT: '/files/' }],
] as [string, Record<string, string>][])
  describe(`segments ${title}`, () => {
    const service = sharedKinora(env)
    let videoId: string
    let segment: string
    beforeEach(async () => {
      videoId = await makeVideo(service, onDisk(service))
      segment = service.url + pathOf(videoId, 1)
      for (let i = 0; i < 3; i++) assert.equal((await get(segment)).status, 200)
    })

    const patch = (json: object) => call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json })

    test('need no query of the database', async (t) => {
      const client = new pg.Client(service.database)
      await client.connect()
      t.after(() => client.end())
      await client.query('begin; lock table all_videos')
      assert.equal((await get(segment)).status, 200)
    })

    test('have the same headers again, with their own request id', async () => {
      // A query is not repeated.
      const first = await get(`${segment}?x`)
      const again = await get(segment)
      const names = new Set([...first.headers.keys(), ...again.headers.keys()])
      for (const name of names) {
        if (name === 'x-request-id') assert.notEqual(again.headers.get(name), first.headers.get(name))
        else if (name !== 'date') assert.equal(again.headers.get(name), first.headers.get(name), name)
      }
      assert.ok(again.bytes.equals(first.bytes))
      assert.equal(again.bytes.length, env.KINORA_ACCEL_REDIRECT ? 0 : segments[1]!.length)
    })

    test('are still sent as ranges, without a body and not at all', async () => {
      const etag = (await get(segment)).headers.get('etag') ?? ''
      assert.equal((await get(segment, { 'if-none-match': etag })).status, 304)
      const head = await get(segment, {}, 'HEAD')
      assert.deepEqual([head.status, head.bytes.length], [200, 0])
      if (env.KINORA_ACCEL_REDIRECT) return
      const part = await get(segment, { range: 'bytes=1-2' })
      assert.deepEqual([part.status, part.bytes.length], [206, 2])
    })

    test('are refused as soon as the video is private, and sent when it is public again', async () => {
      await patch({ public: false })
      assert.equal((await get(segment)).status, 403)
      await patch({ public: true })
      assert.equal((await get(segment)).status, 200)
    })

    test('are refused as soon as the video is deleted, and sent when it is restored', async () => {
      await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })
      assert.equal((await get(segment)).status, 404)
      await call(`${service.url}/discarded/videos/${videoId}`, {
        method: 'PATCH',
        json: { discarded: false },
      })
      assert.equal((await get(segment)).status, 200)
    })

    test('are refused when another process makes the video private, or encodes it again', async (t) => {
      const another = await startKinora({ ...settingsOf(service), KINORA_ROLES: 'api' })
      t.after(() => another.stop())
      const untilRefused = (status: number) => waitFor(async () => (await get(segment)).status === status)
      await call(`${another.url}/videos/${videoId}`, { method: 'PATCH', json: { public: false } })
      await untilRefused(403)
      await patch({ public: true })
      assert.equal((await get(segment)).status, 200)
      await query(
        service.database,
        `with gone as (delete from encodings where video_id = $1) delete from segments where video_id = $1`,
        [videoId],
      )
      await untilRefused(404)
    })

    test('are repeated for their own URL only, because the others are countless', async () => {
      const path = pathOf(videoId, 1)
      const others = [
        path.replace('/hls/', '/%68ls/'),
        path.replaceAll('/', '//'),
        `/sandbox${path}`,
        `${path}/`,
        `${path}#x`,
        `http://a${path}`,
      ]
      const statusOf = async (target: string) => {
        const sent = request(service.url, { path: target, agent: false }).end()
        const [response] = (await once(sent, 'response')) as [IncomingMessage]
        response.resume()
        return response.statusCode
      }
      const before = await Promise.all(others.map(statusOf))
      // Without the trigger, the process is not notified.
      await query(service.database, 'alter table all_videos disable trigger visibility_changed')
      await query(service.database, 'update videos set public = false where id = $1', [videoId])
      await query(service.database, 'alter table all_videos enable trigger visibility_changed')
      assert.equal(await statusOf(path), 200)
      for (const [i, other] of others.entries())
        if (before[i] === 200) assert.equal(await statusOf(other), 403, other)
      assert.ok(before.includes(200), before.join())
    })

    test('are counted and measured', async () => {
      const metric = async (name: string) => {
        const { text } = await call(`${service.url}/metrics`, { key: '' })
        const line = text.split('\n').find((each) => each.startsWith(name)) ?? ''
        return Number(line.split(' ').at(-1))
      }
      const names = [
        'kinora_http_request_seconds_count{route="/vod/:videoId/hls/:rendition/:file",method="GET",status="200"}',
        'kinora_sent_bytes_total{kind="hls"}',
      ]
      const before = await Promise.all(names.map(metric))
      for (let i = 0; i < 4; i++) await get(segment)
      await waitFor(async () => (await metric(names[0]!)) >= before[0]! + 4)
      const sent = env.KINORA_ACCEL_REDIRECT ? 0 : 4 * segments[1]!.length
      assert.equal(await metric(names[1]!), before[1]! + sent)
    })
  })
