import type { Context } from '../context.ts'
import { exampleSecret } from '../lib/fields.ts'
import { type App, ref } from '../lib/http.ts'
import { Type } from '../lib/schema.ts'
import { exchangeKey, exchangeRefreshToken } from './tokens.ts'

export const AccessToken = Type.Object(
  {
    token_type: Type.String({ description: 'Always `Bearer`.', examples: ['Bearer'] }),
    expires_in: Type.Integer({ description: 'Seconds until the access token expires.', examples: [3600] }),
    access_token: Type.String({
      description: 'Send it as `Authorization: Bearer <token>`.',
      examples: [exampleSecret],
    }),
    refresh_token: Type.String({
      description: 'Exchange it for new tokens with `POST /auth/refresh`.',
      examples: [exampleSecret],
    }),
  },
  { $id: 'AccessToken', description: 'A short-lived access token, and the token that renews it.' },
)

export function accountRoutes(app: App, { db, now }: Context): void {
  app.post(
    '/auth/api-key',
    {
      schema: {
        operationId: 'POST_auth-api-key',
        tags: ['Authentication'],
        summary: 'Exchange an API key for an access token',
        description: 'The access token can be used instead of the key, for example in a browser.',
        security: [],
        body: Type.Object({
          apiKey: Type.String({
            maxLength: 500,
            description: 'The API key. The tokens belong to its environment.',
            examples: [exampleSecret],
          }),
        }),
        response: { 200: ref(AccessToken) },
      },
    },
    (request) => exchangeKey(db, request.requiredEnvironment, request.body.apiKey, now()),
  )

  app.post(
    '/auth/refresh',
    {
      schema: {
        operationId: 'POST_auth-refresh',
        tags: ['Authentication'],
        summary: 'Exchange a refresh token for new tokens',
        description: 'Both tokens are new. The refresh token that was sent stays valid for one more minute.',
        security: [],
        body: Type.Object({
          refreshToken: Type.String({
            maxLength: 500,
            description: 'The `refresh_token` of the last response.',
            examples: [exampleSecret],
          }),
        }),
        response: { 200: ref(AccessToken) },
      },
    },
    (request) => exchangeRefreshToken(db, request.requiredEnvironment, request.body.refreshToken, now()),
  )
}
