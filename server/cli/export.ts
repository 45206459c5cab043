import { inParallel } from '../lib/parallel.ts'
import { ClientError, call, listAll, type Server } from './client.ts'
import { command } from './command.ts'
import { download } from './download.ts'
import { CommandError, UsageError } from './errors.ts'
import { openTarget, type Target } from './export-target.ts'
import { type ExportedVideo, exportVideo, type VideoFacts } from './export-video.ts'

const pageSize = 100
const concurrency = 3

export const exportCommand = command({
  name: 'export',
  summary: 'Write all videos of an environment into a folder or bucket',
  operands: ['TO'],
  options: {
    url: { type: 'string', value: 'URL', meaning: 'Of a bucket: the endpoint of the store' },
    region: { type: 'string', value: 'REGION', meaning: 'Of a bucket: the region; by default us-east-1' },
  },
  details: [
    'TO is a folder, or a bucket such as s3://backups/videos, whose keys are in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Each video has a folder with its file, captions, chapters, thumbnail and video.json; player themes and live streams, with their stream keys, have one too. index.csv lists the videos.',
    'The file is the source, or the MP4 if the source was dropped, or if the video is a clip or has a watermark. Run the command again to continue, or to add what is new or has changed. "kinora import" reads the folder or bucket.',
  ],
  callsApi: true,
  examples: ['kinora export films', 'kinora export s3://backups/videos --url https://s3.example.com'],
  json: '`{"videos", "files", "bytes", "skipped", "failed"}`: the numbers of videos, written files and bytes, of videos that had not changed, and of those that failed',
  async run({ operands: [to], options, output, connect }) {
    if (!to.startsWith('s3://') && (options.url ?? options.region) !== undefined)
      throw new UsageError('--url and --region are for buckets.')
    const server = await connect()
    const target = await openTarget(to, options)
    const counts = { videos: 0, files: 0, bytes: 0, skipped: 0, failed: 0 }
    const index: string[] = [`${columns.join(',')}\r\n`]
    await exportOthers(server, target)
    const show = () => {
      if (!output.isJson && process.stderr.isTTY) process.stderr.write(`\r${counts.videos} videos `)
    }
    await inParallel(listVideos(server), concurrency, async (video) => {
      try {
        const done = await exportVideo(server, target, video)
        counts.files += done.files
        counts.bytes += done.bytes
        if (done.isUnchanged) counts.skipped++
        index.push(formatRow(done))
      } catch (error) {
        if (!(error instanceof ClientError)) throw error
        counts.failed++
        output.warn(`${video.videoId}: ${error.message}`)
      }
      counts.videos++
      show()
    })
    await target.write('index.csv', Buffer.from(index.join('')))
    await target.close()
    if (!output.isJson && process.stderr.isTTY) process.stderr.write('\n')
    const { videos, skipped, failed } = counts
    output.print(`${videos} videos in ${to}, ${skipped} of them unchanged, ${failed} failed.`, counts)
    if (failed > 0) throw new CommandError('Run the command again to export what has failed.')
  },
})

const columns = ['videoId', 'title', 'createdAt', 'public', 'file']

function formatRow({ video, file }: ExportedVideo): string {
  const values = [video.videoId, video.title, video.createdAt, String(video.public), file ?? '']
  return `${values.map(quote).join(',')}\r\n`
}

const quote = (value: string) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)

/** Oldest first, so that a video that is added meanwhile is on the last page. */
async function* listVideos(server: Server): AsyncGenerator<VideoFacts> {
  for (let page = 1; ; page++) {
    const query = `sortBy=createdAt&sortOrder=asc&include[]=status&currentPage=${page}&pageSize=${pageSize}`
    const { data } = await call<{ data: VideoFacts[] }>(server, 'GET', `/videos?${query}`)
    yield* data
    if (data.length < pageSize) return
  }
}

type Theme = { playerId: string; assets: { logo: string | null } }
type Stream = { liveStreamId: string }

async function exportOthers(server: Server, target: Target): Promise<void> {
  for (const theme of await listAll<Theme>(server, '/players')) {
    const at = `players/${theme.playerId}`
    const { logo } = theme.assets
    if (logo !== null) {
      const { body } = await download(logo)
      await target.write(`${at}/logo.${logo.endsWith('.png') ? 'png' : 'jpg'}`, body)
    }
    await target.writeJson(`${at}/player.json`, theme)
  }
  for (const stream of await listAll<Stream>(server, '/live-streams'))
    await target.writeJson(`live-streams/${stream.liveStreamId}/live-stream.json`, stream)
}
