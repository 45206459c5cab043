import { type Environment, environments } from '../environments.ts'
import type { LargeVideo, Stored, StoredKind } from '../storage/store.ts'
import { command } from './command.ts'
import { UsageError } from './errors.ts'

const maxVideos = 1_000

export const storageCommand = command({
  name: 'storage',
  summary: 'Show how much each kind of file takes, and the largest videos',
  operands: [],
  options: {
    largest: {
      type: 'string',
      value: 'COUNT',
      meaning: `How many of the largest videos are listed: 0 to ${maxVideos}, 10 if not set`,
    },
  },
  details: [
    'The sizes are those in the database, which agree with the files unless "kinora files sweep" finds a difference. Watermark images and temporary files are not included. Thumbnails of version 0.1.0 count without their size.',
  ],
  examples: ['kinora storage', 'kinora storage --largest 50 --json'],
  json: '`{"storage", "largest"}`: an array of `{"environment", "kind", "quality", "files", "bytes"}` and an array of `{"videoId", "environment", "title", "isDiscarded", "kinds", "bytes"}`',
  async run({ options, output }) {
    const limit = readCount(options.largest ?? '10')
    // Most commands finish faster than the database module loads, so it is imported on demand.
    const [{ withDatabase }, { findLargestVideos, findStored }] = await Promise.all([
      import('./with-database.ts'),
      import('../storage/store.ts'),
    ])
    const found = await withDatabase(async ({ db }) => ({
      storage: await findStored(db),
      largest: limit === 0 ? [] : await findLargestVideos(db, limit),
    }))
    output.print(formatStorage(found), found)
  },
})

function readCount(text: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN
  if (!(count <= maxVideos)) throw new UsageError(`--largest must be a number from 0 to ${maxVideos}.`)
  return count
}

/** In the order of the table. */
const labels: Record<StoredKind, string> = {
  sources: 'sources',
  recordings: 'recordings',
  hls: 'HLS',
  mp4: 'MP4',
  thumbnails: 'thumbnails',
  captions: 'captions',
  live: 'live',
  uploads: 'uploads in progress',
  discarded: 'deleted, can be restored',
}

function formatStorage({ storage, largest }: { storage: Stored[]; largest: LargeVideo[] }): string {
  const tables = environments
    .map((environment) => formatEnvironment(environment, storage))
    .filter((text) => text !== undefined)
  if (tables.length === 0) return 'Nothing is stored.'
  if (largest.length === 0) return tables.join('\n\n')
  const videos = largest.map(
    ({ videoId, environment, title, bytes, isDiscarded }) =>
      `  ${formatBytes(bytes)}  ${videoId}  ${environment.padEnd(10)}  ${printable(title)}${isDiscarded ? ' (deleted)' : ''}`,
  )
  return [...tables, ['Largest videos', ...videos].join('\n')].join('\n\n')
}

function formatEnvironment(environment: Environment, storage: Stored[]): string | undefined {
  const rows = storage.filter((each) => each.environment === environment)
  if (rows.length === 0) return undefined
  const line = (label: string, files: number, bytes: number) =>
    `  ${label.padEnd(26)}${String(files).padStart(10)}  ${formatBytes(bytes)}`
  const sum = (of: Stored[], key: 'files' | 'bytes') => of.reduce((total, each) => total + each[key], 0)
  const lines = (Object.keys(labels) as StoredKind[]).flatMap((kind) => {
    const found = rows.filter((each) => each.kind === kind)
    if (found.length === 0) return []
    const qualities = kind === 'hls' ? found : []
    return [
      line(labels[kind], sum(found, 'files'), sum(found, 'bytes')),
      ...qualities.map(({ quality, files, bytes }) => line(`  ${quality}`, files, bytes)),
    ]
  })
  const head = `${environment.padEnd(28)}${'files'.padStart(10)}  ${'size'.padStart(9)}`
  return [head, ...lines, line('total', sum(rows, 'files'), sum(rows, 'bytes'))].join('\n')
}

const units = ['B ', 'kB', 'MB', 'GB', 'TB']

/** Always the same width, for columns. */
function formatBytes(bytes: number): string {
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1000 ** power
  return `${value.toFixed(power === 0 ? 0 : 1).padStart(6)} ${units[power]}`
}

/** A title may contain sequences that control the terminal. */
const printable = (title: string) => title.replace(/\p{C}/gu, ' ')
