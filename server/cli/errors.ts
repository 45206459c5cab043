/** The command line is wrong. The message is one sentence for the user. */
export class UsageError extends Error {}

/** The command failed. The message is one sentence for the user. */
export class CommandError extends Error {}
