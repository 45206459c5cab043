import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { readConfig } from '../config.ts'
import { environments } from '../environments.ts'
import { SettingsError } from '../lib/settings.ts'
import { ClientProblem, type Server } from './client.ts'
import { checkTarget, findEvents, listen, replayEvent, showEvent } from './events.ts'
import { CommandProblem, type KeyOptions, UsageProblem } from './problems.ts'
import { checkFile, progressBar, uploadFile } from './upload.ts'
import { findStatus, retryVideo, showStatus, watchStatus } from './videos.ts'

const usage = `kinora: a self-hosted video hosting API

  kinora start                                                    run the service
  kinora upload FILE… [--title T] [--private] [--watch]           upload files; KINORA_KEY has the API key
  kinora videos status ID [--watch]                               how far each quality of a video is
  kinora videos retry ID                                          encode again what failed
  kinora events list [--type T] [--video ID] [--json]             what happened, the newest last
  kinora events replay ID                                         send an event to its webhooks again
  kinora webhooks listen [--forward-to URL]                       print events as they come, and pass them on
  kinora files sweep [--remove] [--json]                          compare files and database; remove orphans
  kinora keys create --environment production|sandbox --name N    make an API key and show it this once
  kinora keys list   [--environment production|sandbox]           list API keys, without their values
  kinora keys revoke --environment production|sandbox --name N    end an API key at once

Add --json for output that programs read. Settings are environment variables: see docs/settings.md.`

type Options = KeyOptions & {
  title: string | undefined
  private: boolean
  watch: boolean
  remove: boolean
  type: string | undefined
  video: string | undefined
  'forward-to': string | undefined
}

const anyOption = {
  environment: { type: 'string', short: 'e' },
  name: { type: 'string', short: 'n' },
  json: { type: 'boolean' },
  title: { type: 'string', short: 't' },
  private: { type: 'boolean' },
  watch: { type: 'boolean', short: 'w' },
  remove: { type: 'boolean' },
  type: { type: 'string' },
  video: { type: 'string' },
  'forward-to': { type: 'string', short: 'f' },
  help: { type: 'boolean', short: 'h' },
} as const

/** Which options each command takes; --help goes with all. */
const optionsOf: Record<string, (keyof Options)[]> = {
  start: [],
  upload: ['title', 'private', 'watch', 'json'],
  'videos status': ['watch', 'json'],
  'videos retry': [],
  'events list': ['type', 'video', 'json'],
  'events replay': [],
  'webhooks listen': ['forward-to'],
  'files sweep': ['remove', 'json'],
  'keys create': ['environment', 'name', 'json'],
  'keys list': ['environment', 'json'],
  'keys revoke': ['environment', 'name', 'json'],
}

/** Commands that are followed by names. */
const named = ['upload', 'videos status', 'videos retry', 'events replay']

type Call = { command: string; names: string[]; options: Options }

/** Undefined when help is asked for. */
function readCall(args: string[]): Call | undefined {
  const { values, positionals } = (() => {
    try {
      return parseArgs({ args, allowPositionals: true, options: anyOption })
    } catch (error) {
      throw new UsageProblem((error as Error).message)
    }
  })()
  const words = positionals.join(' ')
  if (values.help || words === '' || words === 'help') return undefined
  const command = named.find((name) => words === name || words.startsWith(`${name} `)) ?? words
  const names = command === words ? [] : positionals.slice(command.split(' ').length)
  const allowed = Object.hasOwn(optionsOf, command) ? optionsOf[command] : undefined
  if (!allowed) throw new UsageProblem(`There is no command "${command}".`)
  const unfit = Object.keys(values).find((name) => !allowed.some((each) => each === name))
  if (unfit) throw new UsageProblem(`"kinora ${command}" has no option --${unfit}.`)
  const environment = environments.find((word) => word === values.environment)
  if (values.environment !== undefined && !environment) {
    throw new UsageProblem(`--environment must be production or sandbox, not "${values.environment}".`)
  }
  if (values.name !== undefined && !/^\S(.{0,98}\S)?$/.test(values.name)) {
    throw new UsageProblem('--name must have 1 to 100 characters and neither begin nor end with a space.')
  }
  const { json = false, private: isPrivate = false, watch = false, remove = false } = values
  const { name, title, type, video, 'forward-to': target } = values
  const flags = { json, private: isPrivate, watch, remove }
  return {
    command,
    names,
    options: { ...flags, environment, name, title, type, video, 'forward-to': target },
  }
}

function findServer(): Server {
  const { cli } = readConfig(process.env)
  if (!cli.key) throw new UsageProblem('Set KINORA_KEY to an API key: "kinora keys create" makes one.')
  return { url: cli.url, key: cli.key }
}

async function upload(files: string[], options: Options): Promise<void> {
  if (files.length === 0) throw new UsageProblem('Which file? kinora upload FILE…')
  if (files.length > 1 && options.title !== undefined)
    throw new UsageProblem('--title is for one file: upload the others by themselves, or without it.')
  const settings = { ...findServer(), title: options.title, isPrivate: options.private }
  // All before the first is sent: a slip in the last name is told at once, not after hours.
  for (const file of await Promise.all(files.map(checkFile))) {
    const { path } = file
    const { videoId, assets } = await uploadFile(file, settings, progressBar(basename(path), process.stderr))
    if (options.watch) await watch(settings, videoId, process.stderr)
    const { player } = assets
    console.log(options.json ? JSON.stringify({ file: path, videoId, player }) : player)
  }
}

/** A quality that failed is a failure of the command. */
async function watch(server: Server, videoId: string, out: NodeJS.WriteStream) {
  const { encoding } = await watchStatus(server, videoId, out)
  if (encoding.qualities.some(({ status }) => status === 'failed')) process.exitCode = 1
}

async function video(command: string, ids: string[], options: Options): Promise<void> {
  const [videoId, ...more] = ids
  if (videoId === undefined || more.length > 0) throw new UsageProblem(`Which video? kinora ${command} ID`)
  const server = findServer()
  if (command === 'videos retry') return console.log(await retryVideo(server, videoId))
  if (options.watch) await watch(server, videoId, options.json ? process.stderr : process.stdout)
  if (options.watch && !options.json) return
  const status = await findStatus(server, videoId)
  console.log(options.json ? JSON.stringify(status) : showStatus(status))
}

const listedEvents = 100

async function events(command: string, ids: string[], options: Options): Promise<void> {
  const target = checkTarget(options['forward-to'])
  const server = findServer()
  if (command === 'webhooks listen') return listen(server, target, (line) => console.log(line))
  if (command === 'events replay') {
    const [eventId, ...more] = ids
    if (eventId === undefined || more.length > 0)
      throw new UsageProblem('Which event? kinora events replay ID')
    return console.log(await replayEvent(server, eventId))
  }
  const filters = {
    ...(options.type !== undefined && { type: options.type }),
    ...(options.video !== undefined && { videoId: options.video }),
  }
  const found = (await findEvents(server, filters, listedEvents)).toReversed()
  if (options.json) return console.log(JSON.stringify(found))
  console.log(found.length === 0 ? 'There are no events.' : found.map(showEvent).join('\n'))
}

async function sweep({ remove: removes, json }: Options): Promise<void> {
  const { sweepFiles } = await import('./files.ts')
  await sweepFiles(readConfig(process.env), { removes, json }, (line) => console.log(line))
}

/** The `kinora` command. */
export async function main(args: string[]): Promise<void> {
  try {
    const call = readCall(args)
    if (!call) return console.log(usage)
    const { command, names, options } = call
    // Commands load what they need: most are over sooner than it takes to load the service or the database.
    if (command === 'start') return await (await import('../main.ts')).serve()
    if (command === 'upload') return await upload(names, options)
    if (command.startsWith('videos ')) return await video(command, names, options)
    if (/^(events|webhooks) /.test(command)) return await events(command, names, options)
    if (command === 'files sweep') return await sweep(options)
    const { runKeyCommand } = await import('./keys.ts')
    console.log(await runKeyCommand(command, options))
  } catch (error) {
    const isKnown = [UsageProblem, CommandProblem, SettingsError, ClientProblem].some(
      (kind) => error instanceof kind,
    )
    if (!isKnown) throw error
    console.error(`kinora: ${(error as Error).message}`)
    if (error instanceof UsageProblem) console.error('\nkinora --help shows what there is.')
    process.exitCode = error instanceof UsageProblem ? 2 : 1
  }
}
