import { environments } from '../environments.ts'

// Options that several commands share. An option of one command is defined with that command.

export const json = { type: 'boolean', meaning: 'print JSON' } as const

export const help = { type: 'boolean', short: 'h', meaning: 'show the help of a command' } as const

/** Options that need no command. */
export const globalOptions = {
  help,
  version: { type: 'boolean', short: 'v', meaning: 'show the version' },
} as const

export const watch = {
  type: 'boolean',
  short: 'w',
  meaning: 'follow the encoding until it has finished',
} as const

export const language = {
  type: 'string',
  short: 'l',
  value: 'TAG',
  meaning: 'the language, such as en or pt-BR',
} as const

export const environment = {
  type: 'string',
  short: 'e',
  value: 'NAME',
  values: environments,
  meaning: 'the environment: production or sandbox',
} as const

export const keyName = {
  type: 'string',
  short: 'n',
  value: 'NAME',
  meaning: 'the name of the key',
} as const
