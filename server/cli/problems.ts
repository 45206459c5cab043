import type { Environment } from '../environments.ts'

/** One helpful sentence about how the command was called. */
export class UsageProblem extends Error {}

/** One helpful sentence about why the command cannot be done. */
export class CommandProblem extends Error {}

export type KeyOptions = { environment: Environment | undefined; name: string | undefined; json: boolean }
