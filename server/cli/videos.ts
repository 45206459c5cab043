import { commandName } from '../lib/command-name.ts'
import { call, ResponseError, type Server, sendJson } from './client.ts'
import { command } from './command.ts'
import { language, watch } from './options.ts'
import { drawOn, findStatus, formatStatus, hasFailed, watchStatus } from './status.ts'

type Video = {
  videoId: string
  title: string
  createdAt: string
  deletesAt: string | null
  assets: { player: string } | null
}

const pathOf = (videoId: string) => `/videos/${encodeURIComponent(videoId)}`

export const videosCommands = [
  command({
    name: 'videos list',
    summary: 'List the newest 100 videos, newest last',
    operands: [],
    options: {
      discarded: { type: 'boolean', meaning: 'List deleted videos that can be restored instead' },
    },
    callsApi: true,
    examples: ['kinora videos list', 'kinora videos list --discarded --json'],
    json: 'an array of video objects of the API',
    async run({ options, output, connect }) {
      const { videos, total } = await findVideos(await connect(), options.discarded)
      const none = options.discarded ? 'There are no deleted videos.' : 'There are no videos.'
      output.print(videos.length === 0 ? none : videos.map(formatVideo).join('\n'), videos)
      if (videos.length < total) output.warn(`Showing the newest ${videos.length} of ${total} videos.`)
    },
  }),
  command({
    name: 'videos status',
    summary: 'Show the encoding progress of a video',
    operands: ['VIDEO'],
    options: { watch },
    details: ['With --watch, the exit code is 1 if a quality or the fetch of the source failed.'],
    callsApi: true,
    examples: ['kinora videos status vi4blUQJFrYWbaG44NChkH27 --watch'],
    json: 'the status object of the API; with --watch, the final one',
    async run({ operands: [videoId], options, output, connect }) {
      const server = await connect()
      if (!options.watch) {
        const status = await findStatus(server, videoId)
        return output.print(formatStatus(status), status)
      }
      const draw = output.isJson ? () => {} : drawOn(process.stdout)
      const status = await watchStatus(server, videoId, (status) => draw(formatStatus(status)))
      if (output.isJson) output.print('', status)
      if (hasFailed(status)) process.exitCode = 1
    },
  }),
  command({
    name: 'videos retry',
    summary: 'Encode the failed qualities of a video again',
    operands: ['VIDEO'],
    options: {},
    callsApi: true,
    examples: ['kinora videos retry vi4blUQJFrYWbaG44NChkH27'],
    json: 'the status object of the API',
    async run({ operands: [videoId], output, connect }) {
      const status = await call(await connect(), 'POST', `${pathOf(videoId)}/retry`)
      const follow = `${commandName(process.env)} videos status ${videoId} --watch`
      output.print(
        `The failed qualities of ${videoId} are being encoded again. To follow the progress: ${follow}`,
        status,
      )
    },
  }),
  command({
    name: 'videos transcribe',
    summary: 'Generate captions from the speech in a video; retry a transcript that failed',
    operands: ['VIDEO'],
    options: { language, summary: { type: 'boolean', meaning: 'Also generate a summary' } },
    details: ['Without --language, the language is detected.'],
    callsApi: true,
    examples: ['kinora videos transcribe vi4blUQJFrYWbaG44NChkH27 --language en --summary'],
    json: 'the video object of the API',
    async run({ operands: [videoId], options: { language, summary }, output, connect }) {
      const body = { transcript: true, language, ...(summary && { transcriptSummary: true }) }
      const video = await sendJson(await connect(), 'PATCH', pathOf(videoId), body)
      const follow = `${commandName(process.env)} videos status ${videoId}`
      output.print(`${videoId} will be transcribed. To follow the progress: ${follow}`, video)
    },
  }),
  command({
    name: 'videos delete',
    summary: 'Delete a video',
    operands: ['VIDEO'],
    options: {
      permanently: {
        type: 'boolean',
        meaning: 'Remove the files at once; also of a video that is already deleted',
      },
    },
    details: [
      'A deleted video can be restored for the days of KINORA_RESTORE_DAYS, unless it is deleted permanently.',
    ],
    callsApi: true,
    examples: [
      'kinora videos delete vi4blUQJFrYWbaG44NChkH27',
      'kinora videos delete vi4blUQJFrYWbaG44NChkH27 --permanently',
    ],
    json: '`{"videoId", "deletesAt"}`, when the video is permanently deleted; null if it already is',
    async run({ operands: [videoId], options, output, connect }) {
      const server = await connect()
      if (options.permanently) await deletePermanently(server, videoId)
      else await call(server, 'DELETE', pathOf(videoId))
      const deletesAt = await findDeletion(server, videoId)
      const restore = `${commandName(process.env)} videos restore ${videoId}`
      const text = deletesAt
        ? `${videoId} deleted. Until ${deletesAt}, it can be restored: ${restore}`
        : `${videoId} permanently deleted.`
      output.print(text, { videoId, deletesAt })
    },
  }),
  command({
    name: 'videos restore',
    summary: 'Restore a deleted video',
    operands: ['VIDEO'],
    options: {},
    callsApi: true,
    examples: ['kinora videos restore vi4blUQJFrYWbaG44NChkH27'],
    json: 'the video object of the API',
    async run({ operands: [videoId], output, connect }) {
      const path = `/discarded${pathOf(videoId)}`
      const video = await sendJson<Video>(await connect(), 'PATCH', path, { discarded: false })
      output.print(`${videoId} restored: ${video.assets?.player}`, video)
    },
  }),
]

/** A video, discarded or not. The service may delete videos permanently anyway. */
async function deletePermanently(server: Server, videoId: string): Promise<void> {
  const missing = await remove(server, pathOf(videoId))
  const isDiscarded = !(await remove(server, `/discarded${pathOf(videoId)}`))
  if (missing && !isDiscarded) throw missing
}

/** Returns the error if there is nothing to delete. */
async function remove(server: Server, path: string): Promise<ResponseError | undefined> {
  try {
    await call(server, 'DELETE', path)
    return undefined
  } catch (error) {
    if (error instanceof ResponseError && error.status === 404) return error
    throw error
  }
}

/** When a deleted video is permanently deleted. Null if it does not exist any more. */
async function findDeletion(server: Server, videoId: string): Promise<string | null> {
  try {
    return (await call<Video>(server, 'GET', `/discarded${pathOf(videoId)}`)).deletesAt
  } catch (error) {
    if (error instanceof ResponseError && error.status === 404) return null
    throw error
  }
}

const maxListed = 100

/** The newest videos, newest last, and how many there are. */
async function findVideos(
  server: Server,
  areDiscarded: boolean,
): Promise<{ videos: Video[]; total: number }> {
  const path = areDiscarded ? '/discarded/videos' : '/videos'
  const { data, pagination } = await call<{ data: Video[]; pagination: { itemsTotal: number } }>(
    server,
    'GET',
    `${path}?sortBy=createdAt&sortOrder=desc&pageSize=${maxListed}`,
  )
  return { videos: data.toReversed(), total: pagination.itemsTotal }
}

/** Control characters in a title could change what the terminal shows. */
function formatVideo({ videoId, title, createdAt, deletesAt }: Video): string {
  const end = deletesAt === null ? '' : `  deletes ${deletesAt}`
  return `${createdAt}  ${videoId}${end}  ${title.replaceAll(/\p{Cc}/gu, ' ')}`.trimEnd()
}
