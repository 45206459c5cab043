import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { call } from '../test/support/harness.ts'
import { makeSource } from '../test/support/live/encoders.ts'
import { createLiveStream } from '../test/support/live/live-streams.ts'
import { makeClip } from '../test/support/media/media.ts'
import { liveViewer, Publisher } from '../test/support/rolling/broadcast.ts'
import { ClusterProcess } from '../test/support/rolling/cluster.ts'
import { operations } from '../test/support/rolling/operations.ts'
import { startTcpProxy } from '../test/support/rolling/proxies.ts'
import { Traffic } from '../test/support/rolling/traffic.ts'
import { uploadVideo, waitForEncoding } from '../test/support/videos.ts'
import { untilFound } from './live/service.ts'
import { startNginx } from './nginx.ts'
import { percentile, Resources, withTemporaryFolder } from './servers.ts'
import { atMost, printTable } from './table.ts'

/** Each repeats every operation. */
const clients = 4
const settings = {
  KINORA_STOP_DELAY_SECONDS: '1',
  KINORA_STOP_TIMEOUT_SECONDS: '60',
  KINORA_ENCODE_SLOTS: '1',
  KINORA_RATE_LIMITS: 'off',
}

/** Restarts every process of a service behind nginx, one after the other, under load. */
export async function rolling([rounds = '3']: string[]): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const cleanup = { after: (end: () => unknown) => resources.add(end) }
    const place = { database: await resources.postgres(folder), data: join(folder, 'data') }
    const processes: ClusterProcess[] = []
    for (const role of ['api', 'api', 'worker', 'worker', 'live', 'live']) {
      const started = await ClusterProcess.start(role, place, settings)
      resources.add(() => started.stop())
      processes.push(started)
    }
    const of = (wanted: string) => processes.filter(({ role }) => role === wanted)
    const requestLog = join(folder, 'requests.log')
    const ports = of('api').map(({ port }) => port)
    const nginx = await startNginx(join(folder, 'nginx'), (port) => proxy(port, ports, requestLog))
    if (!nginx) return void console.log('nginx is not installed')
    resources.add(nginx.close)
    const target = { url: nginx.url }
    const rtmpPort = await startTcpProxy(
      cleanup,
      of('live').map(({ rtmpPort }) => rtmpPort),
    )

    const clip = join(folder, 'clip.mp4')
    await makeClip(clip, { size: '64x36', rate: '5', seconds: 4 })
    const videoId = await uploadVideo(target, clip)
    await waitForEncoding(target, videoId)
    const stream = await createLiveStream(target)
    const source = makeSource({ size: '64x36', seconds: 8, frameRate: 5 })
    const publisher = new Publisher(rtmpPort, stream.streamKey, source)
    resources.add(() => publisher.stop())
    await untilFound(`${target.url}/live/${stream.liveStreamId}.m3u8`)

    const content = { film: randomBytes(20_000), videoId, uploaded: [] }
    const pauses: number[] = []
    const traffics = Array.from({ length: clients }, () => {
      const watch = timed(liveViewer(target, stream), (ms) => pauses.push(ms))
      return new Traffic({ ...operations(target, content), 'watch a live stream': watch })
    })
    while (traffics.some(({ rounds }) => rounds === 0)) await delay(100)
    const begun = performance.now()
    const restarts: number[] = []
    for (let round = 0; round < Number(rounds); round++)
      for (const each of processes) {
        const at = performance.now()
        await each.restart()
        restarts.push((performance.now() - at) / 1_000)
      }
    const seconds = (performance.now() - begun) / 1_000
    for (const traffic of traffics) await traffic.stop()
    await publisher.stop()
    const failures = traffics.flatMap(({ failures }) => failures)
    for (const failure of failures.slice(0, 20)) console.error(failure)
    const { body } = await call(`${target.url}/live-streams/${stream.liveStreamId}/broadcasts`)
    const statuses = (await readFile(requestLog, 'utf8')).trim().split('\n')
    printTable(
      `${restarts.length} restarts of 2 api, 2 worker and 2 live processes behind nginx, under load`,
      [
        { measured: 'requests', kinora: `${statuses.length} in ${seconds.toFixed(0)} s` },
        zero(
          'requests that nginx answered with 499 or 5xx',
          statuses.filter((each) => /^(499|5)/.test(each)).length,
        ),
        zero('operations of clients that failed', failures.length),
        {
          measured: 'operations',
          kinora: String(traffics.flatMap(({ counts }) => Object.values(counts)).reduce((a, b) => a + b)),
        },
        { measured: 'connections of the encoder', kinora: String(publisher.connections) },
        { measured: 'broadcasts', kinora: String(body.data.length), goal: atMost(1, body.data.length) },
        {
          measured: 'a new segment for viewers after, median and longest',
          kinora: `${percentile(pauses, 0.5).toFixed(1)} s, ${Math.max(...pauses).toFixed(1)} s`,
        },
        {
          measured: 'a restart takes, median and longest',
          kinora: `${percentile(restarts, 0.5).toFixed(1)} s, ${Math.max(...restarts).toFixed(1)} s`,
        },
      ],
    )
  })
}

const zero = (measured: string, value: number) => ({
  measured,
  kinora: String(value),
  goal: atMost(0, value),
})

/** Reports how long each segment was the newest one. */
function timed(watch: () => Promise<number>, onSegment: (seconds: number) => void): () => Promise<void> {
  let newest = -1
  let since = 0
  return async () => {
    const segment = await watch()
    if (segment === newest) return
    if (newest >= 0) onSegment((performance.now() - since) / 1_000)
    newest = segment
    since = performance.now()
  }
}

/** The configuration of docs/delivery.md without TLS. */
const proxy = (port: number, ports: number[], requestLog: string) => `
  log_format requests '$status $request_method $upstream_status $request_uri';
  upstream kinora {
    ${ports.map((each) => `server 127.0.0.1:${each} max_fails=0;`).join('\n    ')}
    keepalive 256;
  }
  server {
    listen 127.0.0.1:${port};
    access_log ${requestLog} requests;
    client_max_body_size 0;
    proxy_request_buffering off;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    location / {
      proxy_pass http://kinora;
    }
  }`
