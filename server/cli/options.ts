import { environments } from '../environments.ts'

// Options that several commands share. An option of one command is defined with that command.

export const json = { type: 'boolean', meaning: 'Print JSON' } as const

export const help = { type: 'boolean', short: 'h', meaning: 'Show the help of a command' } as const

/** Options that need no command. */
export const globalOptions = {
  help,
  version: { type: 'boolean', short: 'v', meaning: 'Show the version' },
} as const

export const watch = {
  type: 'boolean',
  short: 'w',
  meaning: 'Follow the encoding until it has finished',
} as const

export const language = {
  type: 'string',
  short: 'l',
  value: 'TAG',
  meaning: 'The language, such as en or pt-BR',
} as const

export const environment = {
  type: 'string',
  short: 'e',
  value: 'NAME',
  values: environments,
  meaning: 'The environment: production or sandbox',
} as const

export const keyName = {
  type: 'string',
  short: 'n',
  value: 'NAME',
  meaning: 'The name of the key',
} as const
