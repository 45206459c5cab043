import type { Context } from '../../context.ts'
import { httpErrors, notFound } from '../../lib/errors.ts'
import { exampleId, idField, sortByField, sortOrderField } from '../../lib/fields.ts'
import { type App, oneOf, ref, text } from '../../lib/http.ts'
import { isId } from '../../lib/ids.ts'
import { listResponse, pageQuery, readPage } from '../../lib/paging.ts'
import { Type } from '../../lib/schema.ts'
import { alreadyExists, inProgress, summariesErrors } from '../errors.ts'
import { requireTranscription } from '../request.ts'
import { findTranscript } from '../store.ts'
import { summaryOrigins, summaryStates } from '../tables.ts'
import { createSummary, requestSummary, requireSummaries } from './request.ts'
import {
  Summary,
  SummaryCreation,
  SummaryList,
  SummarySource,
  SummaryUpdate,
  viewSource,
  viewSummary,
} from './schemas.ts'
import * as store from './store.ts'

const tags = ['Summaries']
const params = Type.Object({ summaryId: idField('summary_', 'Id of the summary.') })

function checkId(summaryId: string): string {
  if (!isId('summary_', summaryId)) throw notFound('summaryId')
  return summaryId
}

export function summaryRoutes(app: App, context: Context): void {
  create(app, context)
  list(app)
  remove(app, context)
  showSource(app, context)
  updateSource(app, context)
}

function create(app: App, { config, db, now }: Context): void {
  const schema = {
    operationId: 'POST_summaries',
    tags,
    summary: 'Create a summary',
    description:
      'With `origin`, the summary is generated from the transcript of the video, which is generated first if there is none. Without it, add the text with `PATCH /summaries/{summaryId}/source`.',
    body: SummaryCreation,
    response: { 201: ref(Summary) },
    'x-errors': [httpErrors.notFound, summariesErrors.alreadyExists],
  }
  app.post('/summaries', { schema }, async ({ body, scope }, reply) => {
    const { videoId, origin, attributes } = body
    const { environment } = scope
    if (!isId('vi', videoId)) throw notFound('videoId')
    if (origin === 'auto') requireSummaries(config, 'origin')
    const summary = await db.transaction().execute(async (trx) => {
      const video = await store.lockVideo(trx, environment, videoId)
      if (!video) throw notFound('videoId')
      const request = { environment, videoId, attributes, now: now() }
      if (origin === undefined) return createSummary(trx, request)
      const transcript = await findTranscript(trx, videoId)
      if (transcript?.state !== 'completed') requireTranscription(config, 'origin')
      const language = video.is_language_detected ? null : video.language
      return requestSummary(trx, { ...request, language })
    })
    if (!summary) throw alreadyExists()
    return reply.code(201).send(viewSummary(summary))
  })
}

function list(app: App): void {
  const schema = {
    operationId: 'GET_summaries',
    tags,
    summary: 'List summaries',
    description: 'Returns the summaries that match all given filters.',
    querystring: Type.Object({
      videoId: Type.Optional(
        text(100, { description: 'The summary of this video.', examples: [exampleId('vi')] }),
      ),
      origin: Type.Optional(
        oneOf(summaryOrigins, { description: 'Only summaries of this origin.', examples: ['auto'] }),
      ),
      sourceStatus: Type.Optional(
        oneOf(summaryStates, { description: 'Only summaries in this state.', examples: ['completed'] }),
      ),
      sortBy: sortByField(['createdAt', 'updatedAt', 'videoId'], 'createdAt'),
      sortOrder: sortOrderField('desc'),
      ...pageQuery,
    }),
    response: { 200: ref(SummaryList) },
  }
  app.get('/summaries', { schema }, async ({ query, read, scope }) => {
    const { videoId, origin, sourceStatus, sortBy, sortOrder } = query
    const filter = { videoId, origin, sourceStatus }
    const order = { by: sortBy ?? 'createdAt', order: sortOrder ?? 'desc' } as const
    const page = readPage(query)
    const { summaries, total } = await read((db) =>
      store.listSummaries(db, scope.environment, filter, order, page),
    )
    return listResponse('/summaries', query, page, summaries.map(viewSummary), total)
  })
}

function remove(app: App, { db }: Context): void {
  const schema = {
    operationId: 'DELETE_summaries-summaryId',
    tags,
    summary: 'Delete a summary',
    description: 'Afterwards, a new summary can be created for the video.',
    params,
    response: { 204: Type.Null({ description: 'Deleted.' }) },
  }
  app.delete('/summaries/:summaryId', { schema }, async ({ params, scope }, reply) => {
    const isDeleted = await store.deleteSummary(db, scope.environment, checkId(params.summaryId))
    if (!isDeleted) throw notFound('summaryId')
    return reply.code(204).send(null)
  })
}

function showSource(app: App, { db }: Context): void {
  const schema = {
    operationId: 'GET_summaries-summaryId-source',
    tags,
    summary: 'Show the text of a summary',
    description: 'Both attributes are empty until the text exists.',
    params,
    response: { 200: ref(SummarySource) },
  }
  app.get('/summaries/:summaryId/source', { schema }, async ({ params, scope }) => {
    const summary = await store.findSummary(db, scope.environment, checkId(params.summaryId))
    if (!summary) throw notFound('summaryId')
    return viewSource(summary)
  })
}

function updateSource(app: App, { db, now }: Context): void {
  const schema = {
    operationId: 'PATCH_summaries-summaryId-source',
    tags,
    summary: 'Change the text of a summary',
    description: 'Attributes that are absent do not change.',
    params,
    body: SummaryUpdate,
    response: { 201: ref(SummarySource) },
    'x-errors': [summariesErrors.inProgress],
  }
  app.patch('/summaries/:summaryId/source', { schema }, async ({ params, body, scope }, reply) => {
    const summary = await store.findSummary(db, scope.environment, checkId(params.summaryId))
    if (!summary) throw notFound('summaryId')
    if (summary.state === 'waiting') throw inProgress()
    const { abstract, takeaways } = body
    if (abstract === undefined && takeaways === undefined) return reply.code(201).send(viewSource(summary))
    const changed = await store.updateSource(db, summary.id, { abstract, takeaways, now: now() })
    // It was deleted, or requested again, in the meantime.
    if (!changed) throw inProgress()
    return reply.code(201).send(viewSource(changed))
  })
}
