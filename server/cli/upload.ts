import { basename } from 'node:path'
import { commandName } from '../lib/command-name.ts'
import { command, type Output } from './command.ts'
import { CommandError, UsageError } from './errors.ts'
import { checkFile, type LocalFile } from './local-file.ts'
import { checkIsMedia } from './not-a-video.ts'
import { watch } from './options.ts'
import {
  findRejection,
  hasFailed,
  type Status,
  waitUntilExamined,
  watchStatus,
  watchUpload,
} from './status.ts'
import { type UploadOptions, uploadFile } from './upload-file.ts'
import { UploadView } from './upload-view.ts'
import { readWatermark } from './watermarks.ts'

export const uploadCommand = command({
  name: 'upload',
  summary: 'Upload files and print the URL of the player page of each',
  operands: ['FILE…'],
  options: {
    title: {
      type: 'string',
      short: 't',
      value: 'TITLE',
      meaning: 'The title of the video; by default the file name without its extension',
    },
    private: { type: 'boolean', meaning: 'Make the videos private' },
    video: {
      type: 'string',
      value: 'VIDEO',
      meaning: 'Upload to this video, which has no file yet or one that cannot be read',
    },
    watermark: {
      type: 'string',
      value: 'ID[,NAME=VALUE…]',
      meaning: 'Burn a watermark into the videos, such as ID,right=2%,bottom=2%,width=15%',
    },
    watch,
  },
  details: [
    'The URL is printed before the file is sent. The page shows the video as soon as its first seconds are encoded; the service begins to encode while the file is sent, if it can. All files are checked before the first one is sent. An interrupted upload continues when you run the same command again.',
    'The exit code is 1 if the service cannot encode a file; with --watch, also if a single quality failed.',
  ],
  callsApi: true,
  examples: [
    'kinora upload film.mp4 --watch',
    'kinora upload film.mp4 --title "My film" --private',
    'kinora upload *.mp4 --json',
  ],
  json: 'one object for each file, when it is uploaded: `{"file", "videoId", "player"}`, and `"failure"` if it cannot be encoded; with --watch also `"status"`, the final status object of the API',
  async run({ operands: names, options, output, connect }) {
    if (names.length > 1 && options.title !== undefined)
      throw new UsageError('--title is for one file: upload the files one by one, or leave out --title.')
    if (options.video !== undefined) checkOptionsForVideo(names, options)
    const watermark = options.watermark === undefined ? undefined : readWatermark(options.watermark)
    const server = await connect()
    const { title, private: isPrivate, video: videoId } = options
    const settings = { ...server, title, isPrivate, watermark, videoId }
    // Check all files before the first upload: a typo in the last name must not show up hours later.
    const files = await Promise.all(names.map(checkFile))
    await Promise.all(files.map(checkIsMedia))
    const rejections: string[] = []
    for (const file of files) rejections.push(...(await upload(file, settings, options.watch, output)))
    if (rejections.length > 0) throw new CommandError(rejections.join('\n'))
  },
})

type NewVideo = { title: string | undefined; private: boolean; watermark: string | undefined }

function checkOptionsForVideo(names: string[], { title, private: isPrivate, watermark }: NewVideo): void {
  if (names.length > 1) throw new UsageError('--video is for one file.')
  const given =
    title !== undefined ? '--title' : isPrivate ? '--private' : watermark !== undefined && '--watermark'
  if (given) throw new UsageError(`${given} is for a new video, and --video for one that exists.`)
}

/** Returns a sentence if the service has rejected the file, unless it is printed as JSON. */
async function upload(
  file: LocalFile,
  settings: UploadOptions,
  isWatching: boolean,
  output: Output,
): Promise<string[]> {
  const { name } = file
  const view = output.isJson ? undefined : new UploadView(basename(name), process.stderr)
  const sent = new AbortController()
  const { videoId, assets } = await uploadFile(file, settings, {
    onVideo({ videoId, assets }) {
      if (!output.isJson) output.print(assets.player, undefined)
      const show = (status: Status) => view?.showStatus(status, assets.player)
      if (view && isWatching) void watchUpload(settings, videoId, show, sent.signal)
    },
    showProgress: (done, total) => view?.showSent(done, total),
  }).finally(() => sent.abort())
  const show = (status: Status) => view?.showStatus(status, assets.player)
  const status = isWatching
    ? await watchStatus(settings, videoId, show)
    : await waitUntilExamined(settings, videoId)
  const failure = findRejection(status)
  if (failure || (isWatching && hasFailed(status))) process.exitCode = 1
  if (output.isJson) {
    const shown = { file: name, videoId, player: assets.player, failure, ...(isWatching && { status }) }
    output.print('', shown)
  }
  if (!failure || output.isJson) return []
  const kinora = commandName(process.env)
  return [
    `${name} cannot be encoded. ${failure} Its video is ${videoId}: replace the file with "${kinora} upload FILE --video ${videoId}", or delete the video with "${kinora} videos delete ${videoId}".`,
  ]
}
