import assert from 'node:assert/strict'
import { chmod, readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  createDatabase,
  type Kinora,
  listFiles,
  productionKey,
  query,
  sandboxKey,
  startKinora,
  temporaryFolder,
  waitFor,
} from './harness.ts'
import { download, readStreams } from './media/media.ts'
import { withoutThumbnails } from './programs.ts'
import { eventsOf, waitForEnds } from './videos.ts'

export type Deployment = {
  database: string
  data: string
  start(env?: Record<string, string>): Promise<Kinora>
}

type Cleanup = { after(end: () => unknown): void }

/**
 * A database and a data folder that several services use one after the other or together. After the test, the services
 * and the programs that they started are killed.
 */
export async function createDeployment(
  t: Cleanup,
  settings: Record<string, string> = {},
): Promise<Deployment> {
  const running: Kinora[] = []
  const data = settings.KINORA_DATA_DIR ?? (await temporaryFolder(t))
  t.after(async () => {
    await Promise.all(running.map((each) => each.kill()))
    for (const { pid } of await processesWith(data)) process.kill(pid, 'SIGKILL')
  })
  const database = await createDatabase(t)
  return {
    database,
    data,
    async start(env = {}) {
      const service = await startKinora({
        KINORA_DATABASE_URL: database,
        KINORA_DATA_DIR: data,
        KINORA_PRODUCTION_KEY: productionKey,
        KINORA_SANDBOX_KEY: sandboxKey,
        KINORA_LOG_LEVEL: 'warn',
        ...settings,
        ...env,
      })
      running.push(service)
      return service
    },
  }
}

/** Finds processes by a text in their command line or in the folders that they have open. */
export async function processesWith(text: string): Promise<{ pid: number; command: string }[]> {
  const found: { pid: number; command: string }[] = []
  for (const name of (await readdir('/proc')).filter((each) => /^\d+$/.test(each))) {
    const args = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')
    // When the tests run as root, ffmpeg gets its folders as inherited file descriptors.
    const links = [3, 4].map((fd) => readlink(`/proc/${name}/fd/${fd}`).catch(() => ''))
    const command = [args, ...(await Promise.all(links))].join('\0')
    if (Number(name) !== process.pid && command.includes(text))
      found.push({ pid: Number(name), command: command.replaceAll('\0', ' ') })
  }
  return found
}

/** Makes a program that runs a shell script first and then the real program. `$*` are the arguments. */
export async function fakeProgram(
  folder: string,
  name: 'ffmpeg' | 'ffprobe',
  script: string,
): Promise<string> {
  const path = join(folder, `fake-${name}-${Math.random().toString(36).slice(2)}`)
  // Thumbnails cost time, so they are made only if the script is about them.
  const isCheap = name === 'ffmpeg' && !script.includes('thumbnail')
  const program = isCheap ? withoutThumbnails().KINORA_FFMPEG : name
  await writeFile(path, `#!/bin/sh\n${script}\nexec ${program} "$@"\n`)
  await chmod(path, 0o755)
  return path
}

/** A script that hangs on the first call whose arguments match, with these arguments on its command line. */
export const hangsOnce = (pattern: string, marker: string) =>
  `case "$*" in ${pattern}) mkdir '${marker}' 2>/dev/null && exec sh -c 'sleep 300; :' hanging "$@";; esac`

/** Makes the leases and heartbeats of killed workers expire at once. */
export async function expireLeases(database: string): Promise<void> {
  await query(
    database,
    `update chunks set lease_until = lease_until - interval '1 minute' where lease_owner is not null`,
  )
  await query(
    database,
    `update pgboss.job set heartbeat_on = heartbeat_on - interval '1 minute' where state = 'active'`,
  )
}

type Expected = {
  events: string[]
  frames: number
  isOnDisk?: boolean
  /** A copied quality can be complete before the lower ones. */
  isCopied?: boolean
  /** How often the encoding has ended: once, and once more for each retry. */
  ends?: number
}

/** Checks that a video has every frame and one event per quality, and that no other rows and files are left. */
export async function assertComplete(
  { url }: Pick<Kinora, 'url'>,
  { database, data }: Pick<Deployment, 'database' | 'data'>,
  videoId: string,
  { events, frames, isOnDisk = true, isCopied = false, ends = 1 }: Expected,
): Promise<void> {
  const recorded = await eventsOf(database, videoId)
  assert.deepEqual(isCopied ? recorded.sort() : recorded, events)
  const all = await waitForEnds(database, videoId, ends)
  assert.deepEqual([all.length, all.at(-1)], [ends, 'completed'], `${all}`)
  const folder = await temporaryFolder({ after() {} })
  const qualities = events.filter((name) => name.startsWith('hls ')).map((name) => name.slice(4))
  const renditions = [...qualities, 'sound']
  const files: string[] = []
  for (const rendition of renditions) {
    const { joined, playlist } = await download(url, videoId, rendition, folder)
    assert.match(playlist, /#EXT-X-PLAYLIST-TYPE:VOD[\s\S]*#EXT-X-ENDLIST/)
    files.push(joined)
  }
  const response = await fetch(`${url}/vod/${videoId}/mp4/source.mp4`)
  assert.equal(response.status, 200)
  const mp4 = join(folder, `${videoId}.mp4`)
  await writeFile(mp4, Buffer.from(await response.arrayBuffer()))
  const { streams, warnings } = await readStreams([...files, mp4])
  assert.equal(warnings, '', 'ffmpeg warns')
  for (const [i, rendition] of renditions.entries()) {
    const { packets } = streams[i]!
    if (rendition !== 'sound') assert.equal(packets.length, frames, `frames of ${rendition}`)
    for (const time of ['pts', 'dts'] as const) {
      const times = packets.map((packet) => packet[time]).sort((a, b) => a - b)
      const steps = new Set(times.slice(1).map((time, i) => time - times[i]!))
      assert.equal(steps.size, 1, `${rendition} has a gap or an overlap: ${[...steps]}`)
    }
  }
  const [video, audio] = [streams.at(-2)!, streams.at(-1)!]
  assert.equal(video.hashes.length, frames)
  assert.deepEqual(video.hashes, streams[qualities.length - 1]!.hashes)
  assert.ok(audio.hashes.length > 0, 'the MP4 has no audio')
  assert.deepEqual(await query(database, 'select * from chunks where video_id = $1', [videoId]), [])
  if (isOnDisk) await assertNoOrphans({ database, data }, videoId)
}

/** Waits until a row refers to each file of the video. Thumbnails are left out: their job may still be running. */
export async function assertNoOrphans(
  { database, data }: Pick<Deployment, 'database' | 'data'>,
  videoId: string,
) {
  let files: string[] = []
  let keys: string[] = []
  // The last job removes files after it has recorded the MP4.
  await waitFor(
    async () => {
      const rows = await query(
        database,
        `select key || '/' || i - 1 || '.m4s' as key from segments, generate_subscripts(sizes, 1) i where video_id = $1
         union all select key from renditions where video_id = $1 and key is not null`,
        [videoId],
      )
      keys = [`videos/${videoId}/source`, ...rows.map(({ key }) => key)].sort()
      files = (await listFiles({ data }))
        .map((path) => relative(join(data, 'files'), path))
        .filter((path) => path.startsWith(`videos/${videoId}/`) && !path.includes(`${videoId}/pictures/`))
        .sort()
      return isDeepStrictEqual(files, keys)
    },
    () => `files: ${files.join('\n')}\nrows: ${keys.join('\n')}`,
  )
}
