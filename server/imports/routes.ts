import { Readable } from 'node:stream'
import type { Context } from '../context.ts'
import { findEncodingSpeed } from '../encoding/renditions/speed-store.ts'
import type { Environment } from '../environments.ts'
import { CachedQuery } from '../lib/cached-query.ts'
import { ApiError, httpErrors, notFound } from '../lib/errors.ts'
import { idField } from '../lib/fields.ts'
import { type App, oneOf, ref } from '../lib/http.ts'
import { isId, newId } from '../lib/ids.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { readTime } from '../lib/time.ts'
import { encryptCredentials } from './credentials.ts'
import { importsErrors } from './errors.ts'
import { listItems } from './item-store.ts'
import { defaultParts, itemStates, objectKinds, type RunState } from './kinds.ts'
import { receiveObject } from './receive-object.ts'
import { writeReport } from './report.ts'
import * as store from './run-store.ts'
import {
  Import,
  ImportItemList,
  ImportList,
  type ImportOptions,
  ImportRequest,
  ReceivedItem,
  ReceivedObject,
} from './schemas.ts'
import { services } from './services/services.ts'
import { failNotUploaded, settleUploads } from './settle-store.ts'
import { TotalsCache } from './totals-cache.ts'
import { viewImport, viewItem } from './view.ts'
import { skipOpen, takeLeases } from './work-store.ts'

const tags = ['Imports']
const prefix = 'import_'
const params = Type.Object({ importId: idField(prefix, 'Id of the import.') })
/** A list of 20,000 URLs with their attributes. */
const bodyLimit = 16 * 1024 * 1024
const defaultConcurrency = 3
const speedMs = 10_000

export function importRoutes(app: App, base: Context): void {
  const speed = new CachedQuery(() => findEncodingSpeed(base.db), speedMs)
  const context: Deps = { ...base, speed, totals: new TotalsCache((ids) => store.findTotals(base.db, ids)) }
  createImport(app, context)
  listImports(app, context)
  showImport(app, context)
  showItems(app, context)
  showReport(app, context)
  changeImport(app, context)
  receive(app, context)
}

async function getRun({ db }: Pick<Context, 'db'>, environment: Environment, id: string): Promise<store.Run> {
  const run = isId(prefix, id) && (await store.findRun(db, environment, id))
  if (!run) throw notFound('importId')
  return run
}

/** What a page shows that polls must not cost more with many videos. */
type Deps = Context & { speed: CachedQuery<number | null>; totals: TotalsCache }

async function view({ totals, files, space, speed }: Deps, found: store.Run[]) {
  const counted = await totals.read(found)
  // A bucket has no limit.
  const isOnDisk = files.pathOf('videos') !== undefined
  const free = isOnDisk ? Math.min(...space.disks.map(({ freeBytes }) => freeBytes)) : null
  const isOpen = found.some(({ ended_at }) => ended_at === null)
  const resources = { free, speed: isOpen ? ((await speed.read()) ?? null) : null }
  return found.map((run, n) => viewImport(run, counted[n]!, resources))
}

function createImport(app: App, context: Deps): void {
  const schema = {
    operationId: 'POST_imports',
    tags,
    summary: 'Import videos from another service',
    description:
      'Starts to import in the background. What was imported before and has not changed is skipped. Objects keep what they have: dates, visibility, captions and so on; see the guide.',
    body: ImportRequest,
    response: { 201: ref(Import) },
  }
  app.post('/imports', { schema, bodyLimit }, async ({ body, scope }, reply) => {
    const service = services[body.service]
    const { account, credentials } = service.read(body)
    const options: ImportOptions = {
      ...(body.url !== undefined && { url: body.url }),
      ...(body.location !== undefined && { location: body.location }),
      ...(body.region !== undefined && { region: body.region }),
      ...(body.list !== undefined && { list: body.list }),
      ...(body.since !== undefined && {
        since: readTime(body.since, 'since', httpErrors.invalidAttribute).toISOString(),
      }),
      ...(body.tags !== undefined && { tags: body.tags }),
      ...(body.limit !== undefined && { limit: body.limit }),
      keepIds: body.keepIds ?? service.keepsIds,
      include: body.include ?? defaultParts,
    }
    const { environment } = scope
    const id = newId(prefix)
    await store.insertRun(context.db, {
      id,
      environment,
      service: body.service,
      account,
      options,
      credentials: encryptCredentials(context.secret, id, credentials),
      is_preview: body.dryRun ?? false,
      concurrency: body.concurrency ?? defaultConcurrency,
      bandwidth: body.bandwidth ?? null,
    })
    await store.announceImports(context.db)
    const [shown] = await view(context, [await getRun(context, environment, id)])
    return reply.code(201).send(shown!)
  })
}

function listImports(app: App, context: Deps): void {
  const schema = {
    operationId: 'GET_imports',
    tags,
    summary: 'List imports',
    description: 'Newest first.',
    querystring: Type.Object(pageQuery),
    response: { 200: ref(ImportList) },
  }
  app.get('/imports', { schema }, async ({ query, read, scope }) => {
    const page = readPage(query)
    const { runs, total } = await read((db) => store.listRuns(db, scope.environment, page))
    return listResponse('/imports', query, page, await view(context, runs), total)
  })
}

function showImport(app: App, context: Deps): void {
  const schema = {
    operationId: 'GET_imports-importId',
    tags,
    summary: 'Show an import',
    description: 'How far it is, and for a dry run, how much it would import.',
    params,
    response: { 200: ref(Import) },
  }
  app.get('/imports/:importId', { schema }, async ({ params, scope }) => {
    const [shown] = await view(context, [await getRun(context, scope.environment, params.importId)])
    return shown!
  })
}

function showItems(app: App, context: Deps): void {
  const schema = {
    operationId: 'GET_imports-importId-items',
    tags,
    summary: 'List the objects of an import',
    description:
      'Each with its state, the reason if it has failed, and notes. In the order of the list of the service.',
    params,
    querystring: Type.Object({
      state: Type.Optional(
        oneOf(itemStates, { description: 'Only objects in this state.', examples: ['failed'] }),
      ),
      kind: Type.Optional(
        oneOf(objectKinds, { description: 'Only objects of this kind.', examples: ['video'] }),
      ),
      ...pageQuery,
    }),
    response: { 200: ref(ImportItemList) },
  }
  app.get('/imports/:importId/items', { schema }, async ({ params, query, read, scope }) => {
    const run = await getRun(context, scope.environment, params.importId)
    const page = readPage(query)
    const { items, total } = await read((db) => listItems(db, run.id, query, page))
    return listResponse(`/imports/${run.id}/items`, query, page, items.map(viewItem), total)
  })
}

function showReport(app: App, context: Deps): void {
  const file = { type: 'string', examples: ['kind,sourceId,objectId,title,state,reason,notes,bytes,seconds'] }
  const schema = {
    operationId: 'GET_imports-importId-report',
    tags,
    summary: 'Download the report of an import',
    description: 'All objects as CSV, with the columns of the list.',
    params,
    response: {
      200: { description: 'The report.', content: { 'text/csv': { schema: Type.Unsafe<unknown>(file) } } },
    },
  }
  app.get('/imports/:importId/report', { schema }, async ({ params, scope }, reply) => {
    const run = await getRun(context, scope.environment, params.importId)
    return reply
      .headers({
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': `attachment; filename="${run.id}.csv"`,
        'cache-control': 'no-store',
      })
      .send(Readable.from(writeReport(context.db, run.id)))
  })
}

function receive(app: App, context: Deps): void {
  app.post(
    '/imports/:importId/objects',
    {
      schema: {
        operationId: 'POST_imports-importId-objects',
        tags,
        summary: 'Send an object of a folder',
        description:
          'For imports with the service `folder`, as `kinora import folder` does it. Creates the object, unless it was imported before and has not changed. Then upload the file of a video to its `objectId`, as to any other video.',
        params,
        body: ReceivedObject,
        response: { 200: ref(ReceivedItem) },
        'x-errors': [importsErrors.ended],
      },
    },
    async ({ params, body, scope, signal }) => {
      const run = await getRun(context, scope.environment, params.importId)
      const { state, reason, notes, objectId } = await receiveObject(context, run, body, signal)
      return { state, reason, notes, objectId }
    },
  )
  app.post(
    '/imports/:importId/complete',
    {
      schema: {
        operationId: 'POST_imports-importId-complete',
        tags,
        summary: 'End the list of a folder',
        description: 'All objects were sent. Videos whose file was not uploaded count as failed.',
        params,
        response: { 200: ref(Import) },
        'x-errors': [importsErrors.ended],
      },
    },
    async ({ params, scope }) => {
      const run = await getRun(context, scope.environment, params.importId)
      if (run.service !== 'folder' || run.state !== 'running') throw new ApiError(importsErrors.ended)
      await context.db.transaction().execute(async (trx) => {
        await settleUploads(trx)
        await failNotUploaded(trx, run.id)
        await store.markListed(trx, run.id)
      })
      const [shown] = await view(context, [await getRun(context, scope.environment, run.id)])
      return shown!
    },
  )
}

type Action = { name: string; summary: string; description: string; from: RunState[]; to: RunState }

const actions: Action[] = [
  {
    name: 'pause',
    summary: 'Pause an import',
    description: 'Files that are being fetched continue later where they were. The key is kept for a week.',
    from: ['running', 'paused'],
    to: 'paused',
  },
  {
    name: 'resume',
    summary: 'Resume an import',
    description: 'Continues a paused import. After a dry run, imports what was listed.',
    from: ['ready', 'paused', 'running'],
    to: 'running',
  },
  {
    name: 'cancel',
    summary: 'Cancel an import',
    description: 'Objects that were imported stay. Another import continues where this one has ended.',
    from: ['running', 'ready', 'paused', 'canceled'],
    to: 'canceled',
  },
]

function changeImport(app: App, context: Deps): void {
  for (const { name, summary, description, from, to } of actions) {
    const schema = {
      operationId: `POST_imports-importId-${name}`,
      tags,
      summary,
      description,
      params,
      response: { 200: ref(Import) },
      'x-errors': [importsErrors.ended],
    }
    app.post(`/imports/:importId/${name}`, { schema }, async ({ params, scope }) => {
      const run = await getRun(context, scope.environment, params.importId)
      const isStarting = to === 'running' && run.state === 'ready'
      const changed = await context.db.transaction().execute(async (trx) => {
        const change = { state: to, ...(isStarting && { isPreview: false }) }
        const changed = await store.changeState(trx, run.id, from, change)
        if (to === 'paused') await takeLeases(trx, run.id)
        if (to === 'canceled') await skipOpen(trx, run.id, 'The import was canceled.')
        return changed
      })
      if (!changed) throw new ApiError(importsErrors.ended)
      await store.announceImports(context.db)
      const [shown] = await view(context, [changed])
      return shown!
    })
  }
}
