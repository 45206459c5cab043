import { accessErrors } from './access/errors.ts'
import { accountsErrors } from './accounts/errors.ts'
import { dashboardErrors } from './dashboard/errors.ts'
import { encodingErrors } from './encoding/errors.ts'
import { type ErrorKind, fileErrors, httpErrors } from './lib/errors.ts'
import { playersErrors } from './players/errors.ts'
import { summariesErrors } from './transcripts/errors.ts'
import { rangeErrors, tusErrors, uploadsErrors } from './uploads/errors.ts'
import { webhooksErrors } from './webhooks/errors.ts'

/** Every kind of error response, in the order of the documentation page. */
export const errorKinds: ErrorKind[] = [
  httpErrors,
  accountsErrors,
  fileErrors,
  uploadsErrors,
  rangeErrors,
  tusErrors,
  encodingErrors,
  accessErrors,
  playersErrors,
  webhooksErrors,
  summariesErrors,
  dashboardErrors,
].flatMap((errors): ErrorKind[] => Object.values(errors))
