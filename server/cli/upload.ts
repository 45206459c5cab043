import { basename } from 'node:path'
import { command, type Output } from './command.ts'
import { UsageError } from './errors.ts'
import { checkFile, type LocalFile } from './local-file.ts'
import { watch } from './options.ts'
import { drawOn, hasFailed, watchStatus } from './status.ts'
import { type UploadOptions, uploadFile } from './upload-file.ts'
import { readWatermark } from './watermarks.ts'

export const uploadCommand = command({
  name: 'upload',
  summary: 'upload files and print the URL of the player page of each',
  operands: ['FILE…'],
  options: {
    title: {
      type: 'string',
      short: 't',
      value: 'TITLE',
      meaning: 'the title of the video; by default the file name without its extension',
    },
    private: { type: 'boolean', meaning: 'make the videos private' },
    watermark: {
      type: 'string',
      value: 'ID[,NAME=VALUE…]',
      meaning: 'burn a watermark into the videos, such as ID,right=2%,bottom=2%,width=15%',
    },
    watch,
  },
  details: [
    'The URL is printed before the file is sent. The page shows the video as soon as its first seconds are encoded. All files are checked before the first one is sent. An interrupted upload continues when you run the same command again.',
    'With --watch, the exit code is 1 if a quality failed.',
  ],
  callsApi: true,
  examples: [
    'kinora upload film.mp4 --watch',
    'kinora upload film.mp4 --title "My film" --private',
    'kinora upload *.mp4 --json',
  ],
  json: 'one object for each file, when it is uploaded: `{"file", "videoId", "player"}`; with --watch also `"status"`, the final status object of the API',
  async run({ operands: names, options, output, connect }) {
    if (names.length > 1 && options.title !== undefined)
      throw new UsageError('--title is for one file: upload the files one by one, or leave out --title.')
    const watermark = options.watermark === undefined ? undefined : readWatermark(options.watermark)
    const server = await connect()
    const settings = { ...server, title: options.title, isPrivate: options.private, watermark }
    // Check all files before the first upload: a typo in the last name must not show up hours later.
    for (const file of await Promise.all(names.map(checkFile)))
      await upload(file, settings, options.watch, output)
  },
})

async function upload(
  file: LocalFile,
  settings: UploadOptions,
  isWatching: boolean,
  output: Output,
): Promise<void> {
  const { name } = file
  const { videoId, assets } = await uploadFile(file, settings, {
    onVideo: ({ assets }) => {
      if (!output.isJson) output.print(assets.player, undefined)
    },
    showProgress: output.isJson ? () => {} : progressBar(basename(name), process.stderr),
  })
  const show = output.isJson ? () => {} : drawOn(process.stderr)
  const status = isWatching ? await watchStatus(settings, videoId, show) : undefined
  if (output.isJson) output.print('', { file: name, videoId, player: assets.player, status })
  if (status && hasFailed(status)) process.exitCode = 1
}

/** Redraws one line on a terminal; prints nothing elsewhere. */
function progressBar(name: string, out: NodeJS.WriteStream): (done: number, total: number) => void {
  const start = Date.now()
  let first: number | undefined
  return (done, total) => {
    first ??= done
    if (!out.isTTY) return
    const filled = Math.floor((30 * done) / total)
    const perSecond = (done - first) / Math.max(0.001, (Date.now() - start) / 1000) / 1e6
    const bar = '█'.repeat(filled) + '░'.repeat(30 - filled)
    out.write(`\r${name}  ${bar} ${Math.floor((100 * done) / total)} %  ${perSecond.toFixed(1)} MB/s `)
    if (done === total) out.write('\n')
  }
}
