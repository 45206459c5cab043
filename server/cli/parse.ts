import { parseArgs } from 'node:util'
import { findSimilar } from '../lib/suggest.ts'
import type { Command, Option, Options } from './command.ts'
import { UsageError } from './errors.ts'
import { environment, globalOptions, help, json } from './options.ts'

export type Parsed =
  /** The help of one command, of the commands that begin with a word, or of all. */
  | { kind: 'help'; words: string[] }
  | { kind: 'version' }
  | {
      kind: 'run'
      command: Command
      operands: string[]
      options: Record<string, string | boolean | undefined>
    }

/** The options of a command, with those that are not listed in its definition. */
export const optionsOf = ({ options, callsApi, json: shape }: Command): Options => ({
  ...options,
  ...(callsApi && { environment }),
  ...(shape !== undefined && { json }),
  help,
})

export const isJsonCall = (args: string[]) =>
  args.slice(0, args.includes('--') ? args.indexOf('--') : args.length).includes('--json')

type Given = { name: string; rawName: string; value: string | undefined; isInline: boolean }

export function parse(commands: Command[], args: string[]): Parsed {
  const { positionals, given } = split(commands, args)
  const isHelp = positionals[0] === 'help' || given.some(({ name }) => name === 'help')
  const words = positionals[0] === 'help' ? positionals.slice(1) : positionals
  const isVersion = given.some(({ name }) => name === 'version') || positionals.join(' ') === 'version'
  if (!isHelp && isVersion) return { kind: 'version' }
  if (words.length === 0) {
    const [stray] = given.filter(({ name }) => name !== 'help' && name !== 'json')
    if (stray) throw new UsageError(`There is no option ${stray.rawName}. Begin with a command.`)
    return { kind: 'help', words }
  }
  const command = findCommand(commands, words)
  if (isHelp) return { kind: 'help', words: command ? command.name.split(' ') : checkGroup(commands, words) }
  if (!command) throw new UsageError(describeUnknown(commands, words))
  const operands = words.slice(command.name.split(' ').length)
  checkOperands(command, operands)
  return { kind: 'run', command, operands, options: readOptions(command, given) }
}

/** An option has the same type in all commands, so arguments can be split before the command is known. */
function split(commands: Command[], args: string[]): { positionals: string[]; given: Given[] } {
  const known = Object.assign({}, globalOptions, ...commands.map(optionsOf)) as Options
  const options = Object.fromEntries(
    Object.entries(known).map(([name, { type, short }]) => [name, short ? { type, short } : { type }]),
  )
  const { tokens } = parseArgs({ args, options, allowPositionals: true, strict: false, tokens: true })
  const positionals: string[] = []
  const given: Given[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const { name, rawName, value, inlineValue } = token
    given.push({ name, rawName, value, isInline: inlineValue ?? false })
  }
  return { positionals, given }
}

const findCommand = (commands: Command[], words: string[]) =>
  commands.find(({ name }) => name.split(' ').every((word, i) => words[i] === word))

/** The command or group of commands whose help matches these arguments. */
export function findHelpWords(commands: Command[], args: string[]): string[] {
  const command = findCommand(commands, args)
  if (command) return command.name.split(' ')
  return wordsOf(commands, args[0] ?? '').length > 0 ? args.slice(0, 1) : []
}

const wordsOf = (commands: Command[], first: string) =>
  commands.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => name.split(' ')[1]!)

function checkGroup(commands: Command[], words: string[]): string[] {
  const [first = ''] = words
  if (words.length > 1 || wordsOf(commands, first).length === 0)
    throw new UsageError(describeUnknown(commands, words))
  return words
}

function describeUnknown(commands: Command[], [first = '', second]: string[]): string {
  const possible = wordsOf(commands, first)
  if (possible.length === 0) {
    const words = commands.map(({ name }) => name.split(' ')[0]!)
    return `There is no command "${first}".${suggestionOf(first, words)}`
  }
  const list = possible.join(', ')
  if (second === undefined) return `"${first}" needs a subcommand: ${list}.`
  const suggestion = suggestionOf(second, possible, `${first} `)
  return `There is no command "${first} ${second}".${suggestion || ` Subcommands of "${first}": ${list}.`}`
}

/** Empty if nothing is similar. */
function suggestionOf(typed: string, words: string[], prefix = ''): string {
  const similar = findSimilar(typed, words)
  return similar === undefined ? '' : ` Did you mean "${prefix}${similar}"?`
}

export const usageOf = ({ name, operands }: Command) => [name, ...operands].join(' ')

function checkOperands(command: Command, operands: string[]): void {
  const { operands: names, operandValues } = command
  const missing = names[operands.length]
  if (missing !== undefined && !missing.startsWith('[')) {
    const [name] = missing.split('…')
    throw new UsageError(`${name} is missing: ${usageOf(command)}`)
  }
  const [first = ''] = operands
  if (operandValues && !operandValues.includes(first))
    throw new UsageError(`${names[0]} must be ${operandValues.join(' or ')}, not "${first}".`)
  const isList = names.at(-1)?.endsWith('…')
  const extra = operands[names.length]
  if (extra !== undefined && !isList)
    throw new UsageError(`"${extra}" is an unexpected argument: ${usageOf(command)}`)
}

function readOptions(command: Command, given: Given[]): Record<string, string | boolean | undefined> {
  const options = optionsOf(command)
  const values: Record<string, string | boolean | undefined> = {}
  for (const [name, { type }] of Object.entries(options))
    values[name] = type === 'boolean' ? false : undefined
  for (const each of given) {
    const option = Object.hasOwn(options, each.name) ? options[each.name] : undefined
    if (!option) {
      const suggestion = suggestionOf(each.name, Object.keys(options), '--')
      throw new UsageError(`"${command.name}" has no option ${each.rawName}.${suggestion}`)
    }
    values[each.name] = readValue(option, each)
  }
  const [missing] = Object.entries(options).filter(([name, { isRequired }]) => isRequired && !values[name])
  if (!missing) return values
  const [name, { meaning }] = missing
  throw new UsageError(`--${name} is required: ${meaning[0]!.toLowerCase()}${meaning.slice(1)}.`)
}

function readValue({ type, value: placeholder, values }: Option, given: Given): string | boolean {
  const { name, rawName, value, isInline } = given
  if (type === 'boolean') {
    if (value !== undefined) throw new UsageError(`${rawName} does not take a value.`)
    return true
  }
  if (value === undefined || (!isInline && value.startsWith('-') && value !== '-'))
    throw new UsageError(
      `${rawName} needs a value: --${name} ${placeholder}. If it begins with a hyphen: --${name}=${placeholder}.`,
    )
  if (values && !values.includes(value))
    throw new UsageError(`${rawName} must be ${values.join(' or ')}, not "${value}".`)
  return value
}
