import type { Connection } from './connection.ts'

/** An option of commands. Each is defined once. Help, parsing, completion and docs/cli.md are derived from it. */
export type Option = {
  type: 'string' | 'boolean'
  short?: string
  /** Describes the value in the help, such as TITLE. Only options of the type string have one. */
  value?: string
  /** All allowed values. */
  values?: readonly string[]
  isRequired?: true
  meaning: string
}

export type Options = Record<string, Option>

type ValueOf<O extends Option> = O extends { type: 'boolean' }
  ? boolean
  :
      | (O extends { values: readonly (infer V)[] } ? V : string)
      | (O extends { isRequired: true } ? never : undefined)

type ValuesOf<O extends Options> = { [K in keyof O]: ValueOf<O[K]> }
type OperandsOf<A extends readonly string[]> = A extends readonly [`${string}…`]
  ? string[]
  : { [K in keyof A]: A[K] extends `[${string}` ? string | undefined : string }

/** Where a command prints. With --json, stdout and stderr contain one JSON value on each line. */
export type Output = {
  isJson: boolean
  /** Prints the text, or the value with --json. */
  print(text: string, value: unknown): void
  warn(sentence: string): void
}

export type Call<A extends readonly string[], O extends Options> = {
  operands: OperandsOf<A>
  options: ValuesOf<O>
  output: Output
  /** The service that a command with `callsApi` calls. */
  connect(): Promise<Connection>
}

type Definition<A extends readonly string[], O extends Options> = {
  /** One or two words, such as `videos list`. */
  name: string
  summary: string
  /**
   * Names of the operands in order. `FILE` is completed with file names. The last can be a list, `FILE…`, or optional,
   * `[FILE]`.
   */
  operands: A
  /** All allowed values of the first operand. */
  operandValues?: readonly string[]
  options: O
  /** It has the option --environment. */
  callsApi?: true
  /** Paragraphs for the help page of the command. */
  details?: string[]
  /** Command lines that work when pasted. */
  examples: string[]
  /** What the command prints with --json. A command without it has no option --json. */
  json?: string
  run(call: Call<A, O>): Promise<void>
}

export type Command = Definition<readonly string[], Options>

/** Checks that `run` uses only the operands and options of its command. */
export const command = <const A extends readonly string[], const O extends Options>(
  definition: Definition<A, O>,
): Command => definition as unknown as Command

export const required = <const O extends Option>(option: O) => ({ ...option, isRequired: true }) as const
