import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { ClientError, call, listAll } from './client.ts'
import { command } from './command.ts'
import { UsageError } from './errors.ts'
import { checkFile } from './local-file.ts'

type Watermark = { watermarkId: string; createdAt: string }

/** Keeps the command from reading a video into memory. The service has a lower limit. */
const maxBytes = 100 * 1024 * 1024

export const watermarksCommands = [
  command({
    name: 'watermarks add',
    summary: 'Upload an image for watermarks and print its id',
    operands: ['FILE'],
    options: {},
    callsApi: true,
    examples: ['kinora watermarks add logo.png'],
    json: 'the watermark object of the API',
    async run({ operands: [path], output, connect }) {
      const file = await checkFile(path)
      if (file.size > maxBytes) throw new ClientError(`${path} is too large for a watermark.`)
      const body = new FormData()
      body.append('file', new Blob([await readFile(file.path)]), basename(path))
      const watermark = await call<Watermark>(await connect(), 'POST', '/watermarks', { body })
      output.print(watermark.watermarkId, watermark)
    },
  }),
  command({
    name: 'watermarks list',
    summary: 'List watermarks, newest last',
    operands: [],
    options: {},
    callsApi: true,
    examples: ['kinora watermarks list'],
    json: 'an array of watermark objects of the API',
    async run({ output, connect }) {
      const watermarks = await listAll<Watermark>(await connect(), '/watermarks', {
        sortOrder: 'asc',
      })
      const lines = watermarks.map(({ watermarkId, createdAt }) => `${watermarkId}  created ${createdAt}`)
      output.print(lines.length === 0 ? 'There are no watermarks.' : lines.join('\n'), watermarks)
    },
  }),
  command({
    name: 'watermarks delete',
    summary: 'Delete a watermark; videos that were created with it keep it',
    operands: ['WATERMARK'],
    options: {},
    callsApi: true,
    examples: ['kinora watermarks delete watermark_5OuzEmJGNeRhMTfb0CJzsm'],
    json: '`{"watermarkId", "deleted": true}`',
    async run({ operands: [watermarkId], output, connect }) {
      await call(await connect(), 'DELETE', `/watermarks/${encodeURIComponent(watermarkId)}`)
      const text = `${watermarkId} was deleted. Videos that were created with it keep it.`
      output.print(text, { watermarkId, deleted: true })
    },
  }),
]

const settings = ['top', 'left', 'bottom', 'right', 'width', 'height', 'opacity']

/** Reads `ID` or `ID,right=2%,bottom=2%`. The service checks the values. */
export function readWatermark(text: string): Record<string, string> {
  const [id = '', ...rest] = text.split(',')
  const pairs = rest.map((part) => {
    const [, name, value] = /^([a-z]+)=(.+)$/.exec(part) ?? []
    if (name === undefined || value === undefined || !settings.includes(name))
      throw new UsageError(
        `--watermark must be ID or ID,NAME=VALUE…, such as ID,right=2%,bottom=2%. Names: ${settings.join(', ')}.`,
      )
    return [name, value]
  })
  return { id, ...Object.fromEntries(pairs) }
}
