import type { Context } from '../context.ts'
import type { Environment } from '../environments.ts'
import { ApiError, type FieldError, httpErrors, invalid, notFound } from '../lib/errors.ts'
import { UrlNotAllowedError } from '../lib/fetch/errors.ts'
import { parseTarget } from '../lib/fetch/target.ts'
import { idField } from '../lib/fields.ts'
import { type App, nullable, oneOf, ref, text } from '../lib/http.ts'
import { isId, newId } from '../lib/ids.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { webhooksErrors } from './errors.ts'
import { eventTypes } from './events.ts'
import { viewWebhook, Webhook, WebhookList } from './schemas.ts'
import { newSecret } from './sign.ts'
import * as store from './store.ts'
import type { WebhookRow } from './tables.ts'

export const webhookParams = Type.Object({ webhookId: idField('webhook_', 'Id of the webhook.') })

export async function getWebhook(
  db: Context['db'],
  environment: Environment,
  webhookId: string,
): Promise<WebhookRow> {
  const row = isId('webhook_', webhookId) && (await store.findWebhook(db, environment, webhookId))
  if (!row) throw notFound('webhookId')
  return row
}

const dayInSeconds = 86_400

export function webhookRoutes(app: App, context: Context): void {
  createRoute(app, context)
  readRoutes(app, context)
  updateRoute(app, context)
  deleteRoute(app, context)
  rotateSecretRoute(app, context)
}

const fields = {
  events: Type.Array(oneOf(eventTypes), {
    minItems: 1,
    maxItems: 100,
    description: 'Event types. Duplicates are ignored.',
    examples: [['video.encoding.quality.completed']],
  }),
  url: text(8192, { description: 'An http or https URL.', examples: ['https://example.com/webhooks'] }),
}

function createRoute(app: App, { config, db, now }: Context): void {
  app.post(
    '/webhooks',
    {
      attachValidation: true,
      schema: {
        operationId: 'POST-webhooks',
        tags: ['Webhooks'],
        summary: 'Create a webhook',
        description:
          'From now on, each event of these types is sent to the URL with POST, signed with the secret in the response.',
        body: Type.Object(fields),
        response: { 201: ref(Webhook) },
      },
    },
    async (request, reply) => {
      checkBody(request, config)
      const { events, url } = request.body
      const row: WebhookRow = {
        id: newId('webhook_'),
        environment: request.scope.environment,
        url,
        events: [...new Set(events)],
        secret: newSecret(),
        previous_secret: null,
        previous_until: null,
        created_at: now(),
      }
      const isInserted = await db
        .transaction()
        .execute((trx) => store.insertWebhook(trx, row, config.webhookLimit))
      if (!isInserted) throw new ApiError(webhooksErrors.limitReached)
      return reply.code(201).send(viewWebhook(row, now()))
    },
  )
}

function readRoutes(app: App, { db, now }: Context): void {
  app.get(
    '/webhooks',
    {
      schema: {
        operationId: 'LIST-webhooks',
        tags: ['Webhooks'],
        summary: 'List webhooks',
        description: 'Each webhook is shown with its secret.',
        querystring: Type.Object({
          events: Type.Optional(
            oneOf(eventTypes, {
              description: 'Only webhooks that subscribe to this event type.',
              examples: ['video.encoding.quality.completed'],
            }),
          ),
          ...pageQuery,
        }),
        response: { 200: ref(WebhookList) },
      },
    },
    async ({ query, read, scope }) => {
      const page = readPage(query)
      const { webhooks, total } = await read((db) =>
        store.listWebhooks(db, scope.environment, query.events, page),
      )
      const views = webhooks.map((row) => viewWebhook(row, now()))
      return listResponse('/webhooks', query, page, views, total)
    },
  )

  app.get(
    '/webhooks/:webhookId',
    {
      schema: {
        operationId: 'GET-Webhook',
        tags: ['Webhooks'],
        summary: 'Show a webhook',
        description: 'The response contains the secret that signs its deliveries.',
        params: webhookParams,
        response: { 200: ref(Webhook) },
      },
    },
    async ({ params, scope }) =>
      viewWebhook(await getWebhook(db, scope.environment, params.webhookId), now()),
  )
}

function updateRoute(app: App, { config, db, now }: Context): void {
  app.patch(
    '/webhooks/:webhookId',
    {
      attachValidation: true,
      schema: {
        operationId: 'PATCH_webhooks-webhookId',
        tags: ['Webhooks'],
        summary: 'Change a webhook',
        description:
          'Attributes that are absent do not change. Pending deliveries are sent to the new URL. The secret stays the same.',
        params: webhookParams,
        body: Type.Object({ events: Type.Optional(fields.events), url: Type.Optional(fields.url) }),
        response: { 200: ref(Webhook) },
      },
    },
    async (request) => {
      const { webhookId } = request.params
      await getWebhook(db, request.scope.environment, webhookId)
      checkBody(request, config)
      const { events, url } = request.body
      const change = { ...(events && { events: [...new Set(events)] }), ...(url !== undefined && { url }) }
      const row = await store.updateWebhook(db, request.scope.environment, webhookId, change)
      if (!row) throw notFound('webhookId')
      return viewWebhook(row, now())
    },
  )
}

function deleteRoute(app: App, { db }: Context): void {
  app.delete(
    '/webhooks/:webhookId',
    {
      schema: {
        operationId: 'DELETE-webhook',
        tags: ['Webhooks'],
        summary: 'Delete a webhook',
        description: 'Permanently deletes it with its delivery log. Pending deliveries are not sent.',
        params: webhookParams,
        response: { 204: Type.Null({ description: 'Deleted.' }) },
      },
    },
    async ({ params, scope }, reply) => {
      const { webhookId } = params
      const isDeleted =
        isId('webhook_', webhookId) && (await store.deleteWebhook(db, scope.environment, webhookId))
      if (!isDeleted) throw notFound('webhookId')
      return reply.code(204).send(null)
    },
  )
}

function rotateSecretRoute(app: App, { db, now }: Context): void {
  app.post(
    '/webhooks/:webhookId/rotate-secret',
    {
      schema: {
        operationId: 'POST_webhooks-webhookId-rotate-secret',
        tags: ['Webhooks'],
        summary: 'Rotate the secret of a webhook',
        description:
          'Until the previous secret expires, deliveries are signed with both secrets, so that the receiver can switch at any time.',
        params: webhookParams,
        body: nullable(
          Type.Object(
            {
              validForSeconds: Type.Optional(
                Type.Integer({
                  minimum: 0,
                  maximum: 30 * dayInSeconds,
                  default: dayInSeconds,
                  description: 'How long deliveries are also signed with the previous secret. 0 disables it.',
                }),
              ),
            },
            { examples: [{ validForSeconds: 3600 }] },
          ),
        ),
        response: { 200: ref(Webhook) },
      },
    },
    async ({ params, body, scope }) => {
      const { webhookId } = params
      const until = new Date(now().getTime() + (body?.validForSeconds ?? dayInSeconds) * 1_000)
      const row =
        isId('webhook_', webhookId) &&
        (await store.rotateSecret(db, scope.environment, webhookId, {
          secret: newSecret(),
          previousUntil: until,
        }))
      if (!row) throw notFound('webhookId')
      return viewWebhook(row, now())
    },
  )
}

/** Reports problems with the URL together with the other validation problems. */
function checkBody(
  { validationError, body }: { validationError?: Error; body?: { url?: unknown } | null },
  config: Context['config'],
): void {
  const [first, ...rest] = [...problemsOf(validationError), ...urlProblems(body?.url, config)]
  if (first) throw invalid([first, ...rest])
}

/** Rethrows other errors, such as a body that is not an object. */
function problemsOf(error: Error | undefined): FieldError[] {
  if (!error) return []
  if (error instanceof ApiError && error.extra.problems) return error.extra.problems
  throw error
}

function urlProblems(url: unknown, config: Context['config']): FieldError[] {
  if (typeof url !== 'string') return []
  try {
    parseTarget(url, config)
    return []
  } catch (error) {
    if (!(error instanceof UrlNotAllowedError)) throw error
    return [{ kind: httpErrors.invalidAttribute, title: error.message, name: 'url' }]
  }
}
