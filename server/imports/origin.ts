import type { Run } from './run-store.ts'

/** Where objects come from, and where they go. */
export const originOf = ({ environment, service, account }: Run) => ({ environment, service, account })
