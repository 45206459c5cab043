import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import { idField } from '../lib/fields.ts'
import { FileNotFoundError } from '../lib/files/files.ts'
import type { App } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { Type } from '../lib/schema.ts'
import { idPrefix, imageKey } from './files.ts'
import { findWatermark } from './store.ts'

const headers = {
  'content-type': 'image/png',
  // The image never changes, but shared caches must not keep it: the URL needs a key.
  'cache-control': 'private, max-age=86400',
  // A browser must not run the file, whatever it contains.
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
}

const file = { type: 'string', format: 'binary', examples: ['watermark.png'] }

export function watermarkImageRoute(app: App, { db, files }: Context): void {
  const schema = {
    operationId: 'GET_watermark-image',
    tags: ['Watermarks'],
    summary: 'Show the image of a watermark',
    description: 'Returns the stored PNG, which has at most 3840 pixels on each side.',
    params: Type.Object({ watermarkId: idField(idPrefix, 'Id of the watermark.') }),
    response: {
      200: {
        description: 'The image.',
        content: { 'image/png': { schema: Type.Unsafe<unknown>(file) } },
      },
    },
  }
  app.get('/watermarks/:watermarkId/image', { schema }, async ({ params, scope }, reply) => {
    const { watermarkId } = params
    const row = isId(idPrefix, watermarkId) && (await findWatermark(db, scope.environment, watermarkId))
    if (!row) throw notFound('watermarkId')
    const key = imageKey(row.id)
    const found = await files.stat(key)
    if (!found) throw notFound('watermarkId')
    const image = await files.read(key).catch((error) => {
      // It was deleted in the meantime.
      throw error instanceof FileNotFoundError ? notFound('watermarkId') : error
    })
    return reply.headers({ ...headers, 'content-length': found.size }).send(image)
  })
}
