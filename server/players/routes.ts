import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import { idField } from '../lib/fields.ts'
import { type App, fileUpload, ref } from '../lib/http.ts'
import { isId, newId } from '../lib/ids.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { readLogo } from './logo.ts'
import { readStyle } from './read-style.ts'
import { PlayerPayload, PlayerTheme, PlayerThemeList, playerOrder, viewPlayer } from './schemas.ts'
import * as store from './store.ts'
import { fillStyle } from './theme.ts'

const params = Type.Object({ playerId: idField('pl', 'Id of the player theme.') })

/** Strings that are not ids never reach the database. */
function checkId(playerId: string): string {
  if (!isId('pl', playerId)) throw notFound('playerId')
  return playerId
}

const logoUpload = fileUpload('A JPEG or PNG image of at most 100 KiB and 200 x 100 pixels.', 'logo.png', {
  link: {
    type: 'string',
    description: 'The http or https URL that the logo links to.',
    examples: ['https://example.com'],
  },
})

const viewRow = (context: Context, row: store.StoredPlayer) => viewPlayer(row, context.publicUrl())

export function playerRoutes(app: App, context: Context): void {
  createPlayer(app, context)
  listPlayers(app, context)
  showPlayer(app, context)
  updatePlayer(app, context)
  deletePlayer(app, context)
  uploadLogo(app, context)
  deleteLogo(app, context)
}

function createPlayer(app: App, context: Context): void {
  const schema = {
    operationId: 'POST_players',
    tags: ['Player themes'],
    summary: 'Create a player theme',
    description: 'Videos use it by `playerId`. Attributes that are absent have the default value.',
    body: PlayerPayload,
    response: { 201: ref(PlayerTheme) },
  }
  app.post('/players', { schema }, async ({ body, scope }, reply) => {
    const time = context.now()
    const row: store.StoredPlayer = {
      id: newId('pl'),
      environment: scope.environment,
      name: body.name ?? '',
      style: fillStyle(readStyle(body)),
      logo_name: null,
      logo_link: null,
      created_at: time,
      updated_at: time,
    }
    await store.insertPlayer(context.db, row)
    return reply.code(201).send(viewRow(context, row))
  })
}

function listPlayers(app: App, context: Context): void {
  const schema = {
    operationId: 'GET_players',
    tags: ['Player themes'],
    summary: 'List player themes',
    description: 'Returns the themes that you have created.',
    querystring: Type.Object({ ...playerOrder, ...pageQuery }),
    response: { 200: ref(PlayerThemeList) },
  }
  app.get('/players', { schema }, async ({ query, read, scope }) => {
    const page = readPage(query)
    const order = { by: query.sortBy ?? 'createdAt', order: query.sortOrder ?? 'desc' } as const
    const { players, total } = await read((db) => store.listPlayers(db, scope.environment, order, page))
    const items = players.map((row) => viewRow(context, row))
    return listResponse('/players', query, page, items, total)
  })
}

function showPlayer(app: App, context: Context): void {
  const schema = {
    operationId: 'GET_players-playerId',
    tags: ['Player themes'],
    summary: 'Show a player theme',
    description: 'Shows its colors, options and logo.',
    params,
    response: { 200: ref(PlayerTheme) },
  }
  app.get('/players/:playerId', { schema }, async ({ params, scope }) => {
    const row = await store.findPlayer(context.db, scope.environment, checkId(params.playerId))
    if (!row) throw notFound('playerId')
    return viewRow(context, row)
  })
}

function updatePlayer(app: App, context: Context): void {
  const { db, now } = context
  const schema = {
    operationId: 'PATCH_players-playerId',
    tags: ['Player themes'],
    summary: 'Change a player theme',
    description:
      'Attributes that are absent do not change. Players of its videos show the change the next time they are opened.',
    params,
    body: PlayerPayload,
    response: { 200: ref(PlayerTheme) },
  }
  app.patch('/players/:playerId', { schema }, async ({ params, body, scope }) => {
    const playerId = checkId(params.playerId)
    const change = { name: body.name, style: readStyle(body) }
    const isChanged = change.name !== undefined || Object.keys(change.style).length > 0
    const row = isChanged
      ? await store.updatePlayer(db, scope.environment, playerId, change, now())
      : await store.findPlayer(db, scope.environment, playerId)
    if (!row) throw notFound('playerId')
    return viewRow(context, row)
  })
}

function deletePlayer(app: App, { db }: Context): void {
  const schema = {
    operationId: 'DELETE_players-playerId',
    tags: ['Player themes'],
    summary: 'Delete a player theme',
    description: 'Its videos use the default theme again.',
    params,
    response: { 204: Type.Null({ description: 'Deleted.' }) },
  }
  app.delete('/players/:playerId', { schema }, async ({ params, scope }, reply) => {
    const isDeleted = await store.deletePlayer(db, scope.environment, checkId(params.playerId))
    if (!isDeleted) throw notFound('playerId')
    return reply.code(204).send(null)
  })
}

function uploadLogo(app: App, context: Context): void {
  const { db, now } = context
  const schema = {
    operationId: 'POST_players-playerId-logo',
    tags: ['Player themes'],
    summary: 'Upload a logo',
    description: 'Replaces the current logo and its link.',
    params,
    response: { 201: ref(PlayerTheme) },
  }
  app.post('/players/:playerId/logo', { config: logoUpload, schema }, async (request, reply) => {
    const { environment } = request.scope
    const playerId = checkId(request.params.playerId)
    if (!(await store.findPlayer(db, environment, playerId))) throw notFound('playerId')
    const { bytes, name, link } = await readLogo(request.raw)
    const change = { logo: bytes, logo_name: name, logo_link: link }
    const row = await store.updatePlayer(db, environment, playerId, change, now())
    if (!row) throw notFound('playerId')
    return reply.code(201).send(viewRow(context, row))
  })
}

function deleteLogo(app: App, { db, now }: Context): void {
  const schema = {
    operationId: 'DELETE_players-playerId-logo',
    tags: ['Player themes'],
    summary: 'Delete a logo',
    description: 'Deletes its link as well.',
    params,
    response: { 204: Type.Null({ description: 'Deleted.' }) },
  }
  app.delete('/players/:playerId/logo', { schema }, async ({ params, scope }, reply) => {
    const change = { logo: null, logo_name: null, logo_link: null }
    const row = await store.updatePlayer(db, scope.environment, checkId(params.playerId), change, now())
    if (!row) throw notFound('playerId')
    return reply.code(204).send(null)
  })
}
