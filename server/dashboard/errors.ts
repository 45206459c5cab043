import { defineErrors } from '../lib/errors.ts'

export const dashboardErrors = defineErrors({
  noSession: [
    'dashboard-session-required',
    401,
    'You are not logged in.',
    'The session of the dashboard is missing, has expired or was ended. Log in again.',
  ],
  wrongPassword: [
    'dashboard-wrong-password',
    401,
    'The password is wrong.',
    'Run `kinora login-link` on the server if you do not remember the password.',
  ],
  invalidLink: [
    'dashboard-invalid-login-link',
    401,
    'The login link is no longer valid.',
    'A login link works once and for a limited time. Run `kinora login-link` on the server to create another one.',
  ],
  crossSite: [
    'dashboard-cross-site-request',
    403,
    'Requests from other sites are not allowed.',
    'Only the pages of the dashboard can call these URLs. Behind a proxy, KINORA_PUBLIC_URL must be the URL in the address bar.',
  ],
  invalidCsrfToken: [
    'dashboard-invalid-csrf-token',
    403,
    'The X-CSRF-Token header is missing or wrong.',
    'Send the `csrfToken` of `GET /dashboard/session` with every request that changes something.',
  ],
  passwordIsSetting: [
    'dashboard-password-is-setting',
    409,
    'The password is in the settings of the service.',
    'Change KINORA_ADMIN_PASSWORD and restart the service.',
  ],
  tooManyStreams: [
    'dashboard-too-many-streams',
    429,
    'Too many pages of the dashboard are open.',
    'A session can receive the changes for 16 pages at once.',
  ],
})
