import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { ClientError, call, type Server } from './client.ts'
import { UsageError } from './errors.ts'
import { checkFile } from './upload.ts'

type Options = { language: string | undefined; default: boolean; json: boolean }

/** A caption has `srclang`, a chapter `language`. */
type Track = { src: string; srclang?: string; language?: string; languageName?: string; default?: boolean }
type Page = { data: Track[]; pagination: { pagesTotal: number } }

/** The service accepts no larger file. */
const maxBytes = 4 * 1024 * 1024

/** Runs `captions add`, `chapters list` and so on. Returns the text to print. */
export async function runTrackCommand(
  findServer: () => Server,
  command: string,
  names: string[],
  options: Options,
): Promise<string> {
  const [kind = '', verb] = command.split(' ')
  if (verb === 'list') {
    const [videoId] = readNames(names, 1, `${command} VIDEO`)
    const tracks = await listTracks(findServer(), pathOf(videoId!, kind))
    if (options.json) return JSON.stringify(tracks)
    return tracks.length === 0 ? `The video has no ${kind}.` : tracks.map(formatTrack).join('\n')
  }
  const usage = verb === 'add' ? 'FILE VIDEO --language en' : 'VIDEO --language en'
  const given = readNames(names, verb === 'add' ? 2 : 1, `${command} ${usage}`)
  const videoId = given.at(-1)!
  if (options.language === undefined) throw new UsageError(`Which language? kinora ${command} ${usage}`)
  const path = `${pathOf(videoId, kind)}/${encodeURIComponent(options.language)}`
  if (verb === 'delete') {
    await call(findServer(), 'DELETE', path)
    return `The ${kind} in ${options.language} are deleted.`
  }
  const track = await addTrack(findServer(), path, given[0]!, options.default)
  return options.json ? JSON.stringify(track) : track.src
}

function readNames(names: string[], count: number, usage: string): string[] {
  if (names.length !== count) throw new UsageError(`Which video? kinora ${usage}`)
  return names
}

const pathOf = (videoId: string, kind: string) => `/videos/${encodeURIComponent(videoId)}/${kind}`

async function addTrack(server: Server, path: string, file: string, isDefault: boolean): Promise<Track> {
  const { size } = await checkFile(file)
  if (size > maxBytes) throw new ClientError(`${file} has more than ${maxBytes / 1024 ** 2} MiB.`)
  const body = new FormData()
  body.append('file', new Blob([await readFile(file)]), basename(file))
  const track = await call<Track>(server, 'POST', path, { body })
  if (!isDefault) return track
  const headers = { 'content-type': 'application/json' }
  return call<Track>(server, 'PATCH', path, { headers, body: JSON.stringify({ default: true }) })
}

async function listTracks(server: Server, path: string): Promise<Track[]> {
  const found: Track[] = []
  for (let currentPage = 1; ; currentPage++) {
    const { data, pagination } = await call<Page>(
      server,
      'GET',
      `${path}?currentPage=${currentPage}&pageSize=100`,
    )
    found.push(...data)
    if (currentPage >= pagination.pagesTotal) return found
  }
}

const formatTrack = ({ src, srclang, language, languageName, default: isDefault }: Track) =>
  [srclang ?? language, languageName, src, isDefault && '(default)'].filter(Boolean).join('  ')
