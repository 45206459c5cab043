import { createWriteStream } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { FileNotFoundError } from '../lib/files/files.ts'
import { openS3Files } from '../lib/files/s3.ts'
import { CommandError } from './errors.ts'

/** Where an export is written. Files appear complete or not at all. */
export type Target = {
  /** Returns the size. */
  write(path: string, content: Buffer | AsyncIterable<Buffer>): Promise<number>
  writeJson(path: string, value: unknown): Promise<void>
  /** Undefined if there is no such file. */
  read(path: string): Promise<Buffer | undefined>
  close(): Promise<void>
}

const bucketPattern =
  /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}){0,8})\/?$/

export async function openTarget(
  name: string,
  { url, region }: { url: string | undefined; region: string | undefined },
): Promise<Target> {
  if (!name.startsWith('s3://')) return withJson(openFolder(resolve(name)))
  const [, bucket, folder = ''] = bucketPattern.exec(name) ?? []
  if (bucket === undefined)
    throw new CommandError(`${name} is not the URL of a bucket, such as s3://backups/videos.`)
  const { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey } = process.env
  if (!accessKey || !secretKey) throw new CommandError('Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.')
  const usedRegion = region ?? 'us-east-1'
  const endpoint = url ?? `https://s3.${usedRegion}.amazonaws.com`
  const files = openS3Files({ endpoint, bucket, region: usedRegion, accessKey, secretKey })
  const below = folder === '' ? '' : `${folder.slice(1)}/`
  return withJson({
    write: async (path, content) => (await files.put(below + path, content)).size,
    async read(path) {
      try {
        return await buffer(await files.read(below + path))
      } catch (error) {
        if (error instanceof FileNotFoundError) return undefined
        throw error
      }
    },
    close: () => files.close(),
  })
}

function openFolder(root: string): Omit<Target, 'writeJson'> {
  return {
    async write(path, content) {
      const to = join(root, path)
      const part = `${to}.part`
      await mkdir(dirname(to), { recursive: true })
      let size = 0
      async function* counted() {
        for await (const chunk of Buffer.isBuffer(content) ? [content] : content) {
          size += chunk.length
          yield chunk
        }
      }
      try {
        await pipeline(counted, createWriteStream(part))
        await rename(part, to)
      } catch (error) {
        await rm(part, { force: true })
        throw error
      }
      return size
    },
    read: (path) =>
      readFile(join(root, path)).catch((error) => {
        if (error.code === 'ENOENT') return undefined
        throw error
      }),
    close: async () => {},
  }
}

const withJson = (target: Omit<Target, 'writeJson'>): Target => ({
  ...target,
  async writeJson(path, value) {
    await target.write(path, Buffer.from(`${JSON.stringify(value, null, 2)}\n`))
  },
})
