import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import { idField, sortByField, sortOrderField, timeField } from '../lib/fields.ts'
import { type App, fileUpload, ref } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { listOf, listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'
import { formatTime } from '../lib/time.ts'
import type { ImageServices } from '../media/image-upload.ts'
import { idPrefix } from './files.ts'
import { watermarkImageRoute } from './image-route.ts'
import * as store from './store.ts'
import { receiveWatermark } from './upload.ts'

export const Watermark = Type.Object(
  {
    watermarkId: idField(idPrefix, 'Id of the watermark.'),
    createdAt: timeField('When the image was uploaded.'),
  },
  { $id: 'Watermark', description: 'An image that can be burnt into videos.' },
)
type Watermark = Static<typeof Watermark>

export const WatermarkList = listOf(ref(Watermark), 'WatermarkList')

const order = {
  sortBy: sortByField(['createdAt'], 'createdAt'),
  sortOrder: sortOrderField('desc'),
}

const params = Type.Object({ watermarkId: idField(idPrefix, 'Id of the watermark.') })

const upload = fileUpload('A JPEG or PNG image of at most 8 MiB and 37 megapixels.', 'watermark.png')

const viewWatermark = (row: store.Watermark): Watermark => ({
  watermarkId: row.id,
  createdAt: formatTime(row.created_at),
})

export function watermarkRoutes(app: App, context: Context & ImageServices): void {
  uploadWatermark(app, context)
  listWatermarks(app)
  watermarkImageRoute(app, context)
  deleteWatermark(app, context)
}

function uploadWatermark(app: App, context: Context & ImageServices): void {
  const { imageLimit } = context
  const schema = {
    operationId: 'POST_watermark',
    tags: ['Watermarks'],
    summary: 'Upload a watermark',
    description: 'Videos that are created with its id as `watermark[id]` show the image in every quality.',
    response: { 200: ref(Watermark) },
  }
  app.post('/watermarks', { config: upload, schema }, async (request) => {
    const row = await receiveWatermark(context, imageLimit, request.scope, request.raw)
    return viewWatermark(row)
  })
}

function listWatermarks(app: App): void {
  const schema = {
    operationId: 'LIST-watermarks',
    tags: ['Watermarks'],
    summary: 'List watermarks',
    description: 'Returns the images that new videos can use.',
    querystring: Type.Object({ ...order, ...pageQuery }),
    response: { 200: ref(WatermarkList) },
  }
  app.get('/watermarks', { schema }, async ({ query, read, scope }) => {
    const page = readPage(query)
    const sortOrder = query.sortOrder ?? 'desc'
    const { rows, total } = await read((db) => store.listWatermarks(db, scope.environment, sortOrder, page))
    return listResponse('/watermarks', query, page, rows.map(viewWatermark), total)
  })
}

function deleteWatermark(app: App, { db, queue }: Context): void {
  const schema = {
    operationId: 'DELETE_watermark',
    tags: ['Watermarks'],
    summary: 'Delete a watermark',
    description: 'Videos that were created with it keep it, including videos that are not encoded yet.',
    params,
    response: { 204: Type.Null({ description: 'Deleted.' }) },
  }
  app.delete('/watermarks/:watermarkId', { schema }, async ({ params, scope }, reply) => {
    const { watermarkId } = params
    if (!isId(idPrefix, watermarkId)) throw notFound('watermarkId')
    const isDeleted = await db.transaction().execute(async (trx) => {
      if (!(await store.deleteWatermark(trx, scope.environment, watermarkId))) return false
      await queue.send(trx, 'remove-watermark', { watermarkId })
      return true
    })
    if (!isDeleted) throw notFound('watermarkId')
    return reply.code(204).send(null)
  })
}
