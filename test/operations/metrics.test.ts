import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { call, kinora, query, root, sharedKinora, temporaryFolder, waitFor } from '../support/harness.ts'
import { makeSource, RtmpEncoder } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { makeClip } from '../support/media/media.ts'
import { dashboardQueries, hasPrometheus, readPanels, startPrometheus } from '../support/prometheus.ts'
import { createWebhook, startReceiver } from '../support/receiver.ts'
import { media, uploadVideo, waitForEncoding } from '../support/videos.ts'

const metricNames = (text: string) => new Set([...text.matchAll(/\bkinora_[a-z_]+/g)].map(([name]) => name))
const exported = (text: string) =>
  new Set([...text.matchAll(/^# TYPE (kinora_\w+)/gm)].map(([, name]) => name!))
const readValue = (text: string, series: string) => {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  assert.ok(line, `${series} is not exported`)
  return Number(line.slice(series.length))
}

const alertsFile = join(root, 'deploy/alerts.yml')
/** Missing until something happens: an installation without a certificate or backup has no such time. */
const optional = [
  'kinora_certificate_expiry_timestamp_seconds',
  'kinora_certificate_lifetime_seconds',
  'kinora_backup_last_success_timestamp_seconds',
]

describe('metrics of a service in use', () => {
  const service = sharedKinora({ KINORA_ALLOW_PRIVATE_NETWORKS: 'true', KINORA_COPY_SOURCES: 'off' })

  test('Prometheus evaluates every expression of the dashboard and of the alerts', {
    skip: !hasPrometheus && 'prometheus is not installed',
  }, async (t) => {
    const { url, database } = service
    await query(
      database,
      `insert into backups (id, destination, started_at, finished_at) values ('b', 'x', now(), now())`,
    )
    const prometheus = await startPrometheus(t, { target: new URL(url).host, rules: alertsFile })
    const receiver = await startReceiver(t)
    await createWebhook(url, `${receiver.url}/hook`)
    const clip = join(await temporaryFolder(t), 'clip.mp4')
    await makeClip(clip, { size: '320x240', rate: '10', seconds: 2 })
    // Rates need a sample before and after what they measure.
    await prometheus.waitForScrape()
    const videoId = await uploadVideo(service, clip)
    await waitForEncoding(service, videoId)
    await media(url, videoId, 'hls/manifest.m3u8')
    const segment = await media(url, videoId, 'hls/240p/video-0.m4s')
    assert.equal(segment.status, 200)
    await receiver.waitForEvents('/hook', 1)
    const { streamKey, liveStreamId } = await createLiveStream(service)
    const encoder = await RtmpEncoder.connect(service, streamKey)
    await encoder.send(makeSource({ seconds: 3 }))
    await waitFor(async () => (await call(`${url}/live/${liveStreamId}.m3u8`, { key: '' })).status === 200)

    const samples = async (expression: string) => (await prometheus.query(expression)).length
    // Counters, because a slow test may notice only later that the encoder was connected.
    await waitFor(async () => (await samples('rate(kinora_webhook_delay_seconds_count[1m]) > 0')) > 0)
    await waitFor(async () => (await samples('rate(kinora_live_received_bytes_total[1m]) > 0')) > 0)

    const text = (await call(`${url}/metrics`, { key: '' })).text
    const names = new Set([...text.matchAll(/^([a-z_]\w*)[{ ]/gim)].map(([, name]) => name!))
    const isKnown = (name: string) => names.has(name) || optional.includes(name)
    const queries = await dashboardQueries()
    const alerts = await prometheus.rules()
    assert.ok(queries.length > 50 && alerts.length > 20)
    for (const { title, expression } of [...queries, ...alerts]) {
      for (const [name] of expression.matchAll(/\b(?:kinora|nodejs|process)_\w+/g))
        assert.ok(isKnown(name), `${title}: there is no metric ${name}`)
      await prometheus.query(expression).catch((error) => assert.fail(`${title}: ${error.message}`))
    }
    // Nothing was limited, and the service has no certificate.
    const isEmpty = new Set(['Limited requests', 'Certificate expires in'])
    const panels = Map.groupBy(queries, ({ title }) => title)
    for (const [title, each] of panels) {
      const counts = await Promise.all(each.map(({ expression }) => samples(expression)))
      if (!isEmpty.has(title))
        assert.ok(
          counts.every((count) => count > 0),
          `${title} has no data: ${counts}`,
        )
    }
    assert.deepEqual(
      alerts.filter(({ health }) => health !== 'ok').map(({ title, lastError }) => `${title}: ${lastError}`),
      [],
    )

    assert.equal(readValue(text, 'kinora_encoded_seconds_total{quality="240p",method="encoded"}'), 2)
    assert.ok(readValue(text, 'kinora_sent_bytes_total{kind="hls"}') >= segment.text.length)
    assert.equal(
      readValue(text, 'kinora_received_bytes_total{method="request"}'),
      (await readFile(clip)).length,
    )
    assert.equal(readValue(text, 'kinora_live_connections_total{kind="started"}'), 1)
    assert.ok(readValue(text, 'kinora_webhook_deliveries_total{result="succeeded"}') >= 1)
    await encoder.close()
  })

  test('the docs list every metric that is exported, and no other', async () => {
    const documented = metricNames(await readFile(join(root, 'docs/metrics.md'), 'utf8'))
    await query(
      service.database,
      `insert into backups (id, destination, started_at, finished_at) values ('d', 'x', now(), now()) on conflict do nothing`,
    )
    const { text } = await call(`${service.url}/metrics`, { key: '' })
    assert.deepEqual([...documented].sort(), [...exported(text)].sort())
  })

  test('every metric that the code defines is exported', async () => {
    const { text } = await call(`${service.url}/metrics`, { key: '' })
    const definition = /(?:name: |(?:gauge|Gauge|count)\()\s*'(kinora_\w+)'/g
    const defined = new Set<string>()
    const files = await readdir(join(root, 'server'), { recursive: true })
    for (const file of files.filter((name) => name.endsWith('.ts')))
      for (const [, name] of (await readFile(join(root, 'server', file), 'utf8')).matchAll(definition))
        defined.add(name!)
    const known = exported(text)
    assert.ok(defined.size > 40)
    assert.deepEqual(
      [...defined].filter((name) => !known.has(name)),
      [],
    )
  })
})

test('without the database, a scrape still has the metrics of the process', async (t) => {
  const service = await kinora(t, { KINORA_ROLES: 'api' })
  const scrape = async () => (await call(`${service.url}/metrics`, { key: '' })).text
  assert.equal(readValue(await scrape(), 'kinora_database_up'), 1)
  const name = new URL(service.database).pathname.slice(1)
  const admin = Object.assign(new URL(service.database), { pathname: '/postgres' }).href
  await query(admin, `alter database "${name}" allow_connections false`)
  await query(admin, `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1`, [name])
  await waitFor(async () => readValue(await scrape(), 'kinora_database_up') === 0)
  const text = await scrape()
  assert.match(text, /^kinora_disk_free_bytes/m)
  assert.match(text, /^process_cpu_seconds_total/m)
  assert.doesNotMatch(text, /^kinora_database_ping_seconds /m)
  await query(admin, `alter database "${name}" allow_connections true`)
  await waitFor(async () => {
    const recovered = await scrape()
    return readValue(recovered, 'kinora_database_up') === 1 && /^kinora_queue_jobs/m.test(recovered)
  })
})

describe('the files for Prometheus and Grafana', () => {
  test('promtool accepts the alerts, and they fire as they should', {
    skip: !hasPrometheus && 'prometheus is not installed',
  }, () => {
    const check = (...args: string[]) => {
      const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' })
      assert.equal(status, 0, stdout + stderr)
    }
    check('check', 'rules', alertsFile)
    check('test', 'rules', join(root, 'test/operations/alerts.test.yml'))
  })

  test('every alert has a severity, sentences, and a section in the docs', async () => {
    const rules = await readFile(alertsFile, 'utf8')
    const docs = await readFile(join(root, 'docs/metrics.md'), 'utf8')
    const alerts = rules.split(/^ +- alert: /m).slice(1)
    const titles = alerts.map((alert) => /^\w+/.exec(alert)![0])
    for (const [i, alert] of alerts.entries()) {
      assert.match(alert, /labels: \{ severity: (critical|warning) \}/, titles[i])
      assert.match(alert, /summary: .*\.["]?$/m, titles[i])
      assert.match(alert, /description: .*\.["]?$/m, titles[i])
      assert.ok(alert.includes(`runbook: docs/metrics.md#${titles[i]!.toLowerCase()}\n`), titles[i])
    }
    const sections = [...docs.matchAll(/^### (Kinora\w+)$/gm)].map(([, name]) => name)
    assert.deepEqual(sections, titles)
  })

  test('panels of the dashboard have ids of their own and do not overlap', async () => {
    const panels = await readPanels()
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
    const taken = new Set<string>()
    for (const { title, gridPos } of panels) {
      const { x, y, w, h } = gridPos
      assert.ok(x >= 0 && x + w <= 24 && w > 0 && h > 0, title)
      for (let column = x; column < x + w; column++)
        for (let row = y; row < y + h; row++) {
          assert.ok(!taken.has(`${column} ${row}`), `${title} overlaps another panel`)
          taken.add(`${column} ${row}`)
        }
    }
    for (const { type, title, datasource, targets = [] } of panels) {
      if (type === 'row') continue
      assert.match(datasource?.uid ?? '', /^\$\{datasource\}$/, title)
      assert.ok(targets.length > 0, title)
      assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title)
      for (const { expr, datasource: of } of targets) {
        assert.match(expr, /job=~"\$job"/, title)
        assert.deepEqual(of, datasource, title)
      }
    }
  })
})
