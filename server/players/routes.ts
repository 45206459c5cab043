import type { Context } from '../context.ts'
import { type FieldError, httpErrors, invalid, notFound } from '../lib/errors.ts'
import { type App, fileUpload, ref } from '../lib/http.ts'
import { isId, newId } from '../lib/ids.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { isColour } from './colours.ts'
import { readLogo } from './logo.ts'
import { PlayerPayload, PlayerTheme, PlayerThemeList, playerOrder, viewPlayer } from './schemas.ts'
import * as store from './store.ts'
import { colours, fillStyle, flags, type Style } from './theme.ts'

const params = Type.Object({ playerId: Type.String({ description: 'Id of the player theme.' }) })

/** An id that cannot exist is not looked up: it may be anything. */
function checkId(playerId: string): string {
  if (!isId('pl', playerId)) throw notFound('playerId')
  return playerId
}

function readStyle(payload: PlayerPayload): Partial<Style> {
  const style: Partial<Style> = {}
  const problems: FieldError[] = []
  for (const name of colours) {
    const colour = payload[name]
    if (colour === undefined) continue
    if (isColour(colour)) style[name] = colour
    else {
      const title = `"${name}" must be a colour of CSS, such as rgba(88, 131, 255, .95) or #5883ff.`
      problems.push({ kind: httpErrors.invalidAttribute, title, name })
    }
  }
  for (const name of flags) if (payload[name] !== undefined) style[name] = payload[name]
  const [first, ...rest] = problems
  if (first) throw invalid([first, ...rest])
  return style
}

const logoUpload = fileUpload('A JPEG or PNG picture of at most 100 KiB and 200 x 100 pixels.', {
  link: { type: 'string', description: 'An http or https address that the logo leads to.' },
})

export function playerRoutes(app: App, context: Context): void {
  const { db, now } = context
  const view = (row: store.StoredPlayer) => viewPlayer(row, context.publicUrl())

  app.post(
    '/players',
    {
      schema: {
        operationId: 'POST_players',
        tags: ['Player themes'],
        summary: 'Create a player theme',
        description: 'A video has it by its `playerId`. What is not given is as in the default theme.',
        body: PlayerPayload,
        response: { 201: ref(PlayerTheme) },
      },
    },
    async ({ body, scope }, reply) => {
      const time = now()
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
      await store.insertPlayer(db, row)
      return reply.code(201).send(view(row))
    },
  )

  app.get(
    '/players',
    {
      schema: {
        operationId: 'GET_players',
        tags: ['Player themes'],
        summary: 'List player themes',
        querystring: Type.Object({ ...playerOrder, ...pageQuery }),
        response: { 200: ref(PlayerThemeList) },
      },
    },
    async ({ query, scope }) => {
      const page = readPage(query)
      const order = { by: query.sortBy ?? 'createdAt', order: query.sortOrder ?? 'desc' } as const
      const { players, total } = await store.listPlayers(db, scope.environment, order, page)
      return listResponse('/players', query, page, players.map(view), total)
    },
  )

  app.get(
    '/players/:playerId',
    {
      schema: {
        operationId: 'GET_players-playerId',
        tags: ['Player themes'],
        summary: 'Show a player theme',
        params,
        response: { 200: ref(PlayerTheme) },
      },
    },
    async ({ params, scope }) => {
      const row = await store.findPlayer(db, scope.environment, checkId(params.playerId))
      if (!row) throw notFound('playerId')
      return view(row)
    },
  )

  app.patch(
    '/players/:playerId',
    {
      schema: {
        operationId: 'PATCH_players-playerId',
        tags: ['Player themes'],
        summary: 'Change a player theme',
        description: 'What is not given stays. The players of its videos change when they are opened next.',
        params,
        body: PlayerPayload,
        response: { 200: ref(PlayerTheme) },
      },
    },
    async ({ params, body, scope }) => {
      const playerId = checkId(params.playerId)
      const change = { name: body.name, style: readStyle(body) }
      const isChanged = change.name !== undefined || Object.keys(change.style).length > 0
      const row = isChanged
        ? await store.updatePlayer(db, scope.environment, playerId, change, now())
        : await store.findPlayer(db, scope.environment, playerId)
      if (!row) throw notFound('playerId')
      return view(row)
    },
  )

  app.delete(
    '/players/:playerId',
    {
      schema: {
        operationId: 'DELETE_players-playerId',
        tags: ['Player themes'],
        summary: 'Delete a player theme',
        description: 'Its videos have the default theme again.',
        params,
        response: { 204: Type.Null({ description: 'Deleted.' }) },
      },
    },
    async ({ params, scope }, reply) => {
      if (!(await store.deletePlayer(db, scope.environment, checkId(params.playerId))))
        throw notFound('playerId')
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/players/:playerId/logo',
    {
      config: logoUpload,
      schema: {
        operationId: 'POST_players-playerId-logo',
        tags: ['Player themes'],
        summary: 'Upload a logo',
        description: 'In place of the one that is there, with its link.',
        params,
        response: { 201: ref(PlayerTheme) },
      },
    },
    async ({ params, scope, raw }, reply) => {
      const playerId = checkId(params.playerId)
      if (!(await store.findPlayer(db, scope.environment, playerId))) throw notFound('playerId')
      const { bytes, name, link } = await readLogo(raw)
      const change = { logo: bytes, logo_name: name, logo_link: link }
      const row = await store.updatePlayer(db, scope.environment, playerId, change, now())
      if (!row) throw notFound('playerId')
      return reply.code(201).send(view(row))
    },
  )

  app.delete(
    '/players/:playerId/logo',
    {
      schema: {
        operationId: 'DELETE_players-playerId-logo',
        tags: ['Player themes'],
        summary: 'Delete a logo',
        description: 'With its link.',
        params,
        response: { 204: Type.Null({ description: 'Deleted.' }) },
      },
    },
    async ({ params, scope }, reply) => {
      const change = { logo: null, logo_name: null, logo_link: null }
      const playerId = checkId(params.playerId)
      if (!(await store.updatePlayer(db, scope.environment, playerId, change, now())))
        throw notFound('playerId')
      return reply.code(204).send(null)
    },
  )
}
