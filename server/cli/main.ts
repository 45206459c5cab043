import type { Environment } from '../environments.ts'
import { commandName } from '../lib/command-name.ts'
import { SettingsError } from '../lib/settings.ts'
import { readVersion } from '../lib/version.ts'
import { ClientError, ResponseError } from './client.ts'
import type { Call, Options } from './command.ts'
import { commands } from './commands.ts'
import { findServer } from './connection.ts'
import { CommandError, UsageError } from './errors.ts'
import { formatHelp } from './help.ts'
import { createOutput } from './output.ts'
import { findHelpWords, isJsonCall, parse } from './parse.ts'

/** The `kinora` command. */
export async function main(args: string[]): Promise<void> {
  const output = createOutput(isJsonCall(args), process)
  try {
    const parsed = parse(commands, args)
    if (parsed.kind === 'help') {
      console.log(formatHelp(commands, parsed.words, commandName(process.env)))
    } else if (parsed.kind === 'version') {
      const version = readVersion()
      output.print(version, { version })
    } else {
      const { operands, options } = parsed
      const environment = options.environment as Environment | undefined
      const connect = () => findServer({ environment, warn: output.warn })
      await parsed.command.run({ operands, options, output, connect } as Call<readonly string[], Options>)
    }
  } catch (error) {
    const known = [UsageError, CommandError, SettingsError, ClientError]
    const isKnown = known.some((kind) => error instanceof kind)
    // A bug: Node prints it with its stack.
    if (!isKnown) throw error
    process.exitCode = error instanceof UsageError ? 2 : 1
    console.error(
      output.isJson ? formatJson(error as Error, process.exitCode) : formatError(error as Error, args),
    )
  }
}

function formatError(error: Error, args: string[]): string {
  const message = `kinora: ${error.message}`
  if (!(error instanceof UsageError)) return message
  const words = findHelpWords(commands, args)
  return `${message}\n\nFor help: ${[commandName(process.env), ...words].join(' ')} --help`
}

/** One line. An error of the API has its status and its body. */
function formatJson(error: Error, exitCode: number): string {
  const response = error instanceof ResponseError ? { status: error.status, problem: error.problem } : {}
  return JSON.stringify({ error: { message: error.message, exitCode, ...response } })
}
