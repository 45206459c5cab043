import type { Command } from './command.ts'
import { optionsOf } from './parse.ts'

export type Choice = { word: string; meaning: string }

/** The first words of all commands. */
export const firstWords = (commands: Command[]): Choice[] => [
  ...[...new Set(commands.map(({ name }) => name.split(' ')[0]!))].map((word) => ({
    word,
    meaning: commands.find(({ name }) => name === word)?.summary ?? `${listOf(secondWords(commands, word))}`,
  })),
  { word: 'help', meaning: 'Show the help of a command' },
]

const listOf = (choices: Choice[]) => choices.map(({ word }) => word).join(', ')

/** The words that can follow the first word of commands with two words. */
export const secondWords = (commands: Command[], first: string): Choice[] =>
  commands
    .filter(({ name }) => name.startsWith(`${first} `))
    .map(({ name, summary }) => ({ word: name.split(' ')[1]!, meaning: summary }))

export const groupsOf = (commands: Command[]) =>
  firstWords(commands)
    .map(({ word }) => word)
    .filter((word) => secondWords(commands, word).length > 0)

export const takesFiles = ({ operands }: Command) => operands.some((name) => /^\[?FILE/.test(name))

/** `--language` and `-l`. */
export const namesOf = (name: string, { short }: { short?: string }) => [
  `--${name}`,
  ...(short ? [`-${short}`] : []),
]

/** Options with a value: their names, and the allowed values if they are known. The same in all commands. */
export function optionsWithValue(commands: Command[]): { names: string[]; values: readonly string[] }[] {
  const options = Object.assign({}, ...commands.map(optionsOf)) as ReturnType<typeof optionsOf>
  return Object.entries(options)
    .filter(([, { type }]) => type === 'string')
    .map(([name, option]) => ({ names: namesOf(name, option), values: option.values ?? [] }))
}
