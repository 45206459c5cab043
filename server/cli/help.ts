import type { Command, Option, Options } from './command.ts'
import { globalOptions } from './options.ts'
import { optionsOf, usageOf } from './parse.ts'

const lineWidth = 100

/** `-l, --language TAG` */
export function formatOption(name: string, { short, value }: Option): string {
  return `${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}`
}

/** `kinora` in the examples becomes what the user types: `npx kinora`. */
const callBy = (prefix: string, line: string) => line.replace(/^((?:\w+=\S+ )*)kinora\b/, `$1${prefix}`)

export function formatHelp(commands: Command[], words: string[], prefix: string): string {
  const name = words.join(' ')
  const command = commands.find((each) => each.name === name)
  if (command) return formatCommand(command, prefix)
  return words.length === 0 ? formatOverview(commands, prefix) : formatGroup(commands, name, prefix)
}

function formatOverview(commands: Command[], prefix: string): string {
  return [
    'Kinora: a video hosting API that you run yourself.',
    '',
    `Usage: ${prefix} COMMAND [OPTIONS]`,
    '',
    'Commands:',
    ...formatCommands(commands),
    '',
    'Options:',
    ...formatOptions(globalOptions),
    '',
    `Commands use the service that runs in this folder. For another one: ${prefix} login URL`,
    'More: docs/cli.md',
  ].join('\n')
}

const formatGroup = (commands: Command[], group: string, prefix: string) =>
  [
    `Usage: ${prefix} ${group} COMMAND [OPTIONS]`,
    '',
    'Commands:',
    ...formatCommands(commands.filter(({ name }) => name.startsWith(`${group} `))),
    '',
    `Help for one command: ${prefix} help ${group} COMMAND`,
  ].join('\n')

const formatCommands = (commands: Command[]) =>
  alignColumns(commands.map((each) => [usageOf(each), each.summary]))

function formatCommand(command: Command, prefix: string): string {
  const { summary, details = [], examples, json } = command
  const options = optionsOf(command)
  const isRequired = Object.values(options).some((option) => option.isRequired)
  const paragraphs = [
    [`Usage: ${prefix} ${usageOf(command)} ${isRequired ? 'OPTIONS' : '[OPTIONS]'}`],
    wrap(`${summary}.`),
    ...details.map((paragraph) => wrap(paragraph)),
    ['Options:', ...formatOptions(options)],
    ...(json === undefined ? [] : [wrap(`With --json: ${json}.`.replaceAll('`', ''))]),
    ['Examples:', ...examples.map((each) => `  ${callBy(prefix, each)}`)],
  ]
  return paragraphs.map((lines) => lines.join('\n')).join('\n\n')
}

const formatOptions = (options: Options) =>
  alignColumns(
    Object.entries(options).map(([name, option]) => [
      formatOption(name, option),
      option.meaning + (option.isRequired ? ' (required)' : ''),
    ]),
  )

/** Indents the rows. Long texts continue in the second column. */
function alignColumns(rows: [string, string][]): string[] {
  const width = Math.max(...rows.map(([first]) => first.length)) + 4
  return rows.flatMap(([first, second]) =>
    wrap(second, Math.max(30, lineWidth - width)).map(
      (line, i) => `${(i === 0 ? `  ${first}` : '').padEnd(width)}${line}`,
    ),
  )
}

function wrap(text: string, width = lineWidth): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!
    if (line === '') lines[lines.length - 1] = word
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}
