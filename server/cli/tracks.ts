import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { ClientError, call, listAll, sendJson } from './client.ts'
import { type Command, command, type Options, required } from './command.ts'
import { checkFile } from './local-file.ts'
import { language } from './options.ts'

/** A caption has `srclang`, a chapter `language`. */
type Track = { src: string; srclang?: string; language?: string; languageName?: string; default?: boolean }

/** The service accepts no larger file. */
const maxBytes = 4 * 1024 * 1024

const pathOf = (videoId: string, kind: string) => `/videos/${encodeURIComponent(videoId)}/${kind}`

const commandsOf = (kind: 'captions' | 'chapters', object: string, options: Options): Command[] => [
  command({
    name: `${kind} add`,
    summary: `Upload ${kind} in WebVTT or SRT and print the URL of the WebVTT file`,
    operands: ['FILE', 'VIDEO'],
    options: { language: required(language), ...options },
    details: [`A file for a language that the video already has replaces its ${kind}.`],
    callsApi: true,
    examples: [`kinora ${kind} add film.vtt vi4blUQJFrYWbaG44NChkH27 --language en`],
    json: `the ${object} object of the API`,
    async run({ operands: [file, videoId], options, output, connect }) {
      const path = `${pathOf(videoId, kind)}/${encodeURIComponent(options.language)}`
      const body = await readTrack(file)
      const server = await connect()
      const added = await call<Track>(server, 'POST', path, { body })
      const isDefault = 'default' in options && options.default
      const track = isDefault ? await sendJson<Track>(server, 'PATCH', path, { default: true }) : added
      output.print(track.src, track)
    },
  }),
  command({
    name: `${kind} list`,
    summary: `List the ${kind} of a video`,
    operands: ['VIDEO'],
    options: {},
    callsApi: true,
    examples: [`kinora ${kind} list vi4blUQJFrYWbaG44NChkH27`],
    json: `an array of ${object} objects of the API`,
    async run({ operands: [videoId], output, connect }) {
      const tracks = await listAll<Track>(await connect(), pathOf(videoId, kind))
      const text = tracks.length === 0 ? `The video has no ${kind}.` : tracks.map(formatTrack).join('\n')
      output.print(text, tracks)
    },
  }),
  command({
    name: `${kind} delete`,
    summary: `Delete the ${kind} in one language`,
    operands: ['VIDEO'],
    options: { language: required(language) },
    callsApi: true,
    examples: [`kinora ${kind} delete vi4blUQJFrYWbaG44NChkH27 --language en`],
    json: '`{"videoId", "language", "deleted": true}`',
    async run({ operands: [videoId], options: { language }, output, connect }) {
      const path = `${pathOf(videoId, kind)}/${encodeURIComponent(language)}`
      await call(await connect(), 'DELETE', path)
      output.print(`The ${kind} in ${language} were deleted.`, { videoId, language, deleted: true })
    },
  }),
]

export const tracksCommands = [
  ...commandsOf('captions', 'caption', {
    default: { type: 'boolean', meaning: 'Show these captions from the start' },
  }),
  ...commandsOf('chapters', 'chapter', {}),
]

async function readTrack(path: string): Promise<FormData> {
  const file = await checkFile(path)
  if (file.size > maxBytes) throw new ClientError(`${path} has more than ${maxBytes / 1024 ** 2} MiB.`)
  const body = new FormData()
  body.append('file', new Blob([await readFile(file.path)]), basename(path))
  return body
}

const formatTrack = ({ src, srclang, language, languageName, default: isDefault }: Track) =>
  [srclang ?? language, languageName, src, isDefault && '(default)'].filter(Boolean).join('  ')
