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
    'Send `Authorization: Bearer <API key or access token>`, or HTTP Basic with the API key as user name. `detail` says where to create a key.',
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
    'The token or key is unknown, expired or revoked, or it belongs to production and was sent to /sandbox. `detail` says which.',
  ],
  invalidApiKey: [
    'authentication-invalid-api-key',
    401,
    'The API key is invalid.',
    'The key is unknown or revoked, or it belongs to production and was sent to /sandbox. `detail` says which.',
  ],
})

/** The tests of existing clients compare the empty `name`. */
export const invalidCredentials = () => new ApiError(accountsErrors.invalidCredentials, { name: '' })
