import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { readConfig } from '../config.ts'
import { environments } from '../environments.ts'
import { SettingsError } from '../lib/settings.ts'
import { ClientError, type Server } from './client.ts'
import { CommandError, type KeyOptions, UsageError } from './errors.ts'
import { checkTarget, findEvents, formatEvent, listen, replayEvent } from './events.ts'
import { runTrackCommand } from './tracks.ts'
import { checkFile, progressBar, uploadFile } from './upload.ts'
import {
  findStatus,
  findVideos,
  formatStatus,
  formatVideo,
  restoreVideo,
  retryVideo,
  transcribeVideo,
  watchStatus,
} from './videos.ts'
import { readWatermark, runWatermarkCommand } from './watermarks.ts'

const usage = `kinora: a self-hosted video hosting API

  kinora start                                                    run the service
  kinora upload FILE… [--title T] [--private] [--watch]           upload files (API key in KINORA_KEY)
                      [--watermark ID[,NAME=VALUE…]]              burn a watermark into them
  kinora videos list [--discarded] [--json]                       list videos, or deleted videos that can be restored
  kinora videos restore ID                                        restore a deleted video
  kinora videos status ID [--watch]                               show the encoding progress of a video
  kinora videos retry ID                                          retry the failed qualities of a video
  kinora videos transcribe ID [--language L] [--summary]          make captions, and a summary, from the speech
  kinora captions add FILE VIDEO --language L [--default]         upload WebVTT or SRT captions
  kinora captions list VIDEO                                      list the captions of a video
  kinora captions delete VIDEO --language L                       delete captions
  kinora chapters add | list | delete                             the same for chapters, without --default
  kinora watermarks add FILE                                      upload an image for watermarks
  kinora watermarks list                                          list watermarks, newest last
  kinora watermarks delete ID                                     delete a watermark; its videos keep it
  kinora events list [--type T] [--video ID] [--json]             list events, newest last
  kinora events replay ID                                         send an event to its webhooks again
  kinora webhooks listen [--forward-to URL]                       print new events and forward them to a URL
  kinora files sweep [--remove] [--json]                          find orphaned and missing files; remove orphans
  kinora keys create --environment production|sandbox --name N    create an API key and show it once
  kinora keys list   [--environment production|sandbox]           list API keys, without their values
  kinora keys revoke --environment production|sandbox --name N    revoke an API key

--json prints JSON. Settings are environment variables: see docs/settings.md. All commands: docs/cli.md.`

type Options = KeyOptions & {
  title: string | undefined
  private: boolean
  watch: boolean
  watermark: string | undefined
  remove: boolean
  discarded: boolean
  type: string | undefined
  video: string | undefined
  'forward-to': string | undefined
  language: string | undefined
  summary: boolean
  default: boolean
}

const allOptions = {
  environment: { type: 'string', short: 'e' },
  name: { type: 'string', short: 'n' },
  json: { type: 'boolean' },
  title: { type: 'string', short: 't' },
  private: { type: 'boolean' },
  watch: { type: 'boolean', short: 'w' },
  watermark: { type: 'string' },
  remove: { type: 'boolean' },
  discarded: { type: 'boolean' },
  type: { type: 'string' },
  video: { type: 'string' },
  'forward-to': { type: 'string', short: 'f' },
  language: { type: 'string', short: 'l' },
  summary: { type: 'boolean' },
  default: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/** The options of each command, besides --help. */
const optionsOf: Record<string, (keyof Options)[]> = {
  start: [],
  upload: ['title', 'private', 'watch', 'watermark', 'json'],
  'videos list': ['discarded', 'json'],
  'videos restore': [],
  'videos status': ['watch', 'json'],
  'videos retry': [],
  'videos transcribe': ['language', 'summary'],
  'captions add': ['language', 'default', 'json'],
  'captions list': ['json'],
  'captions delete': ['language'],
  'chapters add': ['language', 'json'],
  'chapters list': ['json'],
  'chapters delete': ['language'],
  'watermarks add': ['json'],
  'watermarks list': ['json'],
  'watermarks delete': [],
  'events list': ['type', 'video', 'json'],
  'events replay': [],
  'webhooks listen': ['forward-to'],
  'files sweep': ['remove', 'json'],
  'keys create': ['environment', 'name', 'json'],
  'keys list': ['environment', 'json'],
  'keys revoke': ['environment', 'name', 'json'],
}

/** Commands that take file names or ids. */
const commandsWithNames = [
  'upload',
  'videos status',
  'videos retry',
  'videos restore',
  'videos transcribe',
  'events replay',
  'watermarks add',
  'watermarks delete',
  ...['captions', 'chapters'].flatMap((kind) => ['add', 'list', 'delete'].map((verb) => `${kind} ${verb}`)),
]

type Call = { command: string; names: string[]; options: Options }

/** Returns undefined for --help. */
function parseCall(args: string[]): Call | undefined {
  const { values, positionals } = (() => {
    try {
      return parseArgs({ args, allowPositionals: true, options: allOptions })
    } catch (error) {
      throw new UsageError((error as Error).message)
    }
  })()
  const words = positionals.join(' ')
  if (values.help || words === '' || words === 'help') return undefined
  const command = commandsWithNames.find((name) => words === name || words.startsWith(`${name} `)) ?? words
  const names = command === words ? [] : positionals.slice(command.split(' ').length)
  const allowed = Object.hasOwn(optionsOf, command) ? optionsOf[command] : undefined
  if (!allowed) throw new UsageError(`There is no command "${command}".`)
  const unknown = Object.keys(values).find((name) => !allowed.some((each) => each === name))
  if (unknown) throw new UsageError(`"kinora ${command}" has no option --${unknown}.`)
  const environment = environments.find((word) => word === values.environment)
  if (values.environment !== undefined && !environment) {
    throw new UsageError(`--environment must be production or sandbox, not "${values.environment}".`)
  }
  if (values.name !== undefined && !/^\S(.{0,98}\S)?$/.test(values.name)) {
    throw new UsageError('--name must have 1 to 100 characters and must not start or end with a space.')
  }
  const {
    json = false,
    private: isPrivate = false,
    watch = false,
    remove = false,
    discarded = false,
    summary = false,
  } = values
  const { name, title, type, video, watermark, language, 'forward-to': target } = values
  const flags = {
    ...{ json, private: isPrivate, watch, remove, discarded, summary },
    default: values.default ?? false,
  }
  const texts = { name, title, type, video, watermark, language, 'forward-to': target }
  return {
    command,
    names,
    options: { ...flags, ...texts, environment },
  }
}

function findServer(): Server {
  const { cli } = readConfig(process.env)
  if (!cli.key) throw new UsageError('Set KINORA_KEY to an API key: "kinora keys create" makes one.')
  return { url: cli.url, key: cli.key }
}

async function upload(files: string[], options: Options): Promise<void> {
  if (files.length === 0) throw new UsageError('Which file? kinora upload FILE…')
  if (files.length > 1 && options.title !== undefined)
    throw new UsageError('--title is for one file: upload the files one by one, or leave out --title.')
  const watermark = options.watermark === undefined ? undefined : readWatermark(options.watermark)
  const settings = { ...findServer(), title: options.title, isPrivate: options.private, watermark }
  // Check all files before the first upload: a typo in the last name must not show up hours later.
  for (const file of await Promise.all(files.map(checkFile))) {
    const { path } = file
    const { videoId, assets } = await uploadFile(file, settings, progressBar(basename(path), process.stderr))
    if (options.watch) await watch(settings, videoId, process.stderr)
    const { player } = assets
    console.log(options.json ? JSON.stringify({ file: path, videoId, player }) : player)
  }
}

/** A failed quality makes the exit code 1. */
async function watch(server: Server, videoId: string, out: NodeJS.WriteStream) {
  const { encoding } = await watchStatus(server, videoId, out)
  if (encoding.qualities.some(({ status }) => status === 'failed')) process.exitCode = 1
}

async function listVideos({ discarded: areDiscarded, json }: Options): Promise<void> {
  const { videos, total } = await findVideos(findServer(), { areDiscarded })
  if (json) console.log(JSON.stringify(videos))
  else if (videos.length === 0)
    console.log(areDiscarded ? 'There are no discarded videos.' : 'There are no videos.')
  else console.log(videos.map(formatVideo).join('\n'))
  if (videos.length < total) console.error(`These are the newest ${videos.length} of ${total} videos.`)
}

async function video(command: string, ids: string[], options: Options): Promise<void> {
  const [videoId, ...more] = ids
  if (videoId === undefined || more.length > 0) throw new UsageError(`Which video? kinora ${command} ID`)
  const server = findServer()
  if (command === 'videos retry') return console.log(await retryVideo(server, videoId))
  if (command === 'videos transcribe') return console.log(await transcribeVideo(server, videoId, options))
  if (command === 'videos restore') return console.log(await restoreVideo(server, videoId))
  if (options.watch) await watch(server, videoId, options.json ? process.stderr : process.stdout)
  if (options.watch && !options.json) return
  const status = await findStatus(server, videoId)
  console.log(options.json ? JSON.stringify(status) : formatStatus(status))
}

const maxListedEvents = 100

async function events(command: string, ids: string[], options: Options): Promise<void> {
  const target = checkTarget(options['forward-to'])
  const server = findServer()
  if (command === 'webhooks listen') return listen(server, target, (line) => console.log(line))
  if (command === 'events replay') {
    const [eventId, ...more] = ids
    if (eventId === undefined || more.length > 0) throw new UsageError('Which event? kinora events replay ID')
    return console.log(await replayEvent(server, eventId))
  }
  const filters = {
    ...(options.type !== undefined && { type: options.type }),
    ...(options.video !== undefined && { videoId: options.video }),
  }
  const found = (await findEvents(server, filters, maxListedEvents)).toReversed()
  if (options.json) return console.log(JSON.stringify(found))
  console.log(found.length === 0 ? 'There are no events.' : found.map(formatEvent).join('\n'))
}

async function sweep({ remove: removes, json }: Options): Promise<void> {
  const { sweepFiles } = await import('./files.ts')
  await sweepFiles(readConfig(process.env), { removes, json }, (line) => console.log(line))
}

/** The `kinora` command. */
export async function main(args: string[]): Promise<void> {
  try {
    const call = parseCall(args)
    if (!call) return console.log(usage)
    const { command, names, options } = call
    // Imported on demand: most commands finish faster than the service or the database module loads.
    if (command === 'start') return await (await import('../main.ts')).serve()
    if (command === 'upload') return await upload(names, options)
    if (command === 'videos list') return await listVideos(options)
    if (command.startsWith('videos ')) return await video(command, names, options)
    if (command.startsWith('watermarks '))
      return console.log(await runWatermarkCommand(command, names, options.json, findServer))
    if (/^(events|webhooks) /.test(command)) return await events(command, names, options)
    if (/^(captions|chapters) /.test(command))
      return console.log(await runTrackCommand(findServer, command, names, options))
    if (command === 'files sweep') return await sweep(options)
    const { runKeyCommand } = await import('./keys.ts')
    console.log(await runKeyCommand(command, options))
  } catch (error) {
    const isKnown = [UsageError, CommandError, SettingsError, ClientError].some(
      (kind) => error instanceof kind,
    )
    if (!isKnown) throw error
    console.error(`kinora: ${(error as Error).message}`)
    if (error instanceof UsageError) console.error('\nkinora --help shows what there is.')
    process.exitCode = error instanceof UsageError ? 2 : 1
  }
}
