import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { formBody, MiB } from '../../test/support/harness.ts'
import type { Answer } from '../client.ts'
import { expectStatus, type LoadContext } from './load.ts'

const chunkBytes = 5 * MiB
const pauseMs = 500
const boundary = 'chaos-boundary'

type Way = {
  /** Returns the id of the video once the service has acknowledged the whole file. */
  upload(context: LoadContext, content: Buffer, title: string): Promise<string | undefined>
  minBytes?: number
}

export const uploadWays: Record<string, Way> = {
  'one request': {
    async upload(context, content, title) {
      const videoId = await createVideo(context, { title })
      if (videoId === undefined) return undefined
      const sent = await sendForm(context, `/videos/${videoId}/source`, [{ name: 'file', content }])
      return sent ? videoId : undefined
    },
  },

  chunks: {
    minBytes: 2 * chunkBytes,
    async upload(context, content, title) {
      const videoId = await createVideo(context, { title, public: false })
      if (videoId === undefined) return undefined
      const sent = await sendChunks(context, `/videos/${videoId}/source`, content)
      return sent ? videoId : undefined
    },
  },

  token: {
    async upload(context, content, title) {
      const videoId = await createVideo(context, { title })
      const created = await context.client.send('/upload-tokens', { method: 'POST', json: {} })
      if (videoId === undefined || !expectStatus(context.ledger, 'POST /upload-tokens', created, 200))
        return undefined
      const { token } = JSON.parse(created.text)
      const id = { name: 'videoId', content: videoId }
      const sent = await sendForm(context, `/upload?token=${token}`, [id, { name: 'file', content }])
      return sent ? videoId : undefined
    },
  },

  tus: {
    async upload(context, content, title) {
      const { client, ledger } = context
      const videoId = await createVideo(context, { title })
      const resumable = { 'tus-resumable': '1.0.0' }
      const length = {
        'upload-length': String(content.length),
        'upload-metadata': `videoId ${btoa(videoId ?? '')}`,
      }
      const created = await client.send('/tus', { method: 'POST', headers: { ...resumable, ...length } })
      if (!expectStatus(ledger, 'POST /tus', created, 201)) return undefined
      const path = new URL(created.headers.get('location')!, 'http://any').pathname
      for (;;) {
        const head = await client.send(path, { method: 'HEAD', headers: resumable })
        if (!expectStatus(ledger, 'HEAD /tus', head, 200)) return undefined
        const offset = Number(head.headers.get('upload-offset'))
        if (offset === content.length) return videoId
        const part = {
          'upload-offset': String(offset),
          'content-type': 'application/offset+octet-stream',
        }
        const body = new Uint8Array(content.subarray(offset))
        const patched = await client.attempt(path, {
          method: 'PATCH',
          headers: { ...resumable, ...part },
          body,
        })
        // Another request may hold the lock, or its machine is gone. The client asks again how much has arrived.
        if (patched?.status !== 204) await delay(pauseMs)
      }
    },
  },

  URL: {
    async upload({ client, ledger, files }, content, title) {
      const name = `${randomUUID()}.mp4`
      await writeFile(join(files.folder, name), content)
      const json = { title, source: `${files.url}/${name}` }
      const created = await client.send('/videos', { method: 'POST', json })
      return expectStatus(ledger, 'POST /videos', created, 202) && JSON.parse(created.text).videoId
    },
  },
}

async function createVideo({ client, ledger }: LoadContext, json: object): Promise<string | undefined> {
  const created = await client.send('/videos', { method: 'POST', json })
  return expectStatus(ledger, 'POST /videos', created, 201) && JSON.parse(created.text).videoId
}

type Part = { name: string; content: Buffer | string }

async function sendForm(context: LoadContext, path: string, parts: Part[], range?: string): Promise<boolean> {
  const { client, ledger } = context
  const files = parts.map(({ name, content }) => ({
    name,
    content,
    ...(name === 'file' && { filename: 'film.mp4' }),
  }))
  const headers = {
    'content-type': `multipart/form-data; boundary=${boundary}`,
    ...(range && { 'content-range': range }),
  }
  const body = new Uint8Array(formBody(files, boundary))
  const hasToken = path.includes('token=')
  const answer = await client.send(path, { method: 'POST', headers, body, ...(hasToken && { key: '' }) })
  return isRepeated(answer) || expectStatus(ledger, `POST ${path}`, answer, 201) !== undefined
}

/** The answer to an earlier request was lost, but the service has the file. */
const isRepeated = ({ status, text }: Answer) => status === 400 && text.includes('already-uploaded')

/** The last chunk first, so that no machine can append what it receives. */
async function sendChunks(context: LoadContext, path: string, content: Buffer): Promise<boolean> {
  const count = Math.ceil(content.length / chunkBytes)
  for (let part = count; part > 0; part--) {
    const chunk = content.subarray((part - 1) * chunkBytes, part * chunkBytes)
    if (!(await sendForm(context, path, [{ name: 'file', content: chunk }], `part ${part}/${count}`)))
      return false
  }
  return true
}
