import { ApiError, defineErrors } from '../lib/errors.ts'

export const accountsErrors = defineErrors({
  invalidCredentials: [
    'authentication-invalid-user-credentials',
    400,
    'The credentials are invalid.',
    'The API key or refresh token is unknown, revoked or expired, or it belongs to production and was sent to /sandbox.',
  ],
  missingHeader: [
    'authentication-missing-authorization-header',
    401,
    'The Authorization header is missing.',
    'Send `Authorization: Bearer <access token>`, or HTTP Basic with the API key as user name.',
  ],
  invalidHeader: [
    'authentication-invalid-authorization-header-value',
    401,
    'The Authorization header is malformed.',
    'The header is neither `Bearer <token>` nor `Basic <base64 of key and colon>`.',
  ],
  invalidAccessToken: [
    'authentication-invalid-access-token',
    401,
    'The access token is invalid.',
    'The token is unknown or expired, its API key was revoked, or it belongs to production and was sent to /sandbox.',
  ],
  invalidApiKey: [
    'authentication-invalid-api-key',
    401,
    'The API key is invalid.',
    'The key is unknown or revoked, or it belongs to production and was sent to /sandbox.',
  ],
})

/** The tests of existing clients compare the empty `name`. */
export const invalidCredentials = () => new ApiError(accountsErrors.invalidCredentials, { name: '' })
