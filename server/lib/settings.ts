export type Env = Record<string, string | undefined>

export type Setting = {
  name: string
  default: string
  /** If the default depends on other settings. Undefined: it is `default`. */
  defaultIn?: (env: Env) => string | undefined
  meaning: string
}

export const defaultOf = (setting: Setting, env: Env): string => setting.defaultIn?.(env) ?? setting.default

/** A setting with its value, for people who operate the service. */
export type EffectiveSetting = {
  name: string
  /** Null if it is a secret or not set. */
  value: string | null
  isSecret: boolean
  isDefault: boolean
  meaning: string
}

/** One value of the configuration, and the settings that it is read from. */
export type Value<T> = { settings: Setting[]; read(env: Env): T }

type Values = Record<string, Value<unknown>>
export type ReadValues<V> = { [K in keyof V]: V[K] extends Value<infer T> ? T : never }

/** Contains one sentence for each wrong setting. */
export class SettingsError extends Error {
  readonly problems: string[]
  constructor(problems: string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** Thrown by the reader of a setting. The message completes "KINORA_X ". */
export class InvalidValue extends Error {}

type Read<T> = (text: string) => T

/** Defines one setting in one place. The type of its value is the result of `read`. */
export function setting<T>(definition: Setting & { read: Read<T> }): Value<T> {
  const { name, read } = definition
  return {
    settings: [definition],
    read(env) {
      try {
        // An empty value means that the default applies, if it depends on other settings.
        const value = definition.defaultIn && env[name] === '' ? undefined : env[name]
        return read(value ?? defaultOf(definition, env))
      } catch (error) {
        if (error instanceof InvalidValue) throw new SettingsError([`${name} ${error.message}.`])
        throw error
      }
    },
  }
}

/** Reads every value before it throws, so that one error contains the problems of all settings and `otherProblems`. */
export function readValues<V extends Values>(
  values: V,
  env: Env,
  otherProblems: string[] = [],
): ReadValues<V> {
  const read: Record<string, unknown> = {}
  const problems = [...otherProblems]
  for (const [key, value] of Object.entries(values)) {
    try {
      read[key] = value.read(env)
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error
      problems.push(...error.problems)
    }
  }
  if (problems.length > 0) throw new SettingsError(problems)
  return read as ReadValues<V>
}

export const settingsOf = (values: Values): Setting[] =>
  Object.values(values).flatMap(({ settings }) => settings)

/** An object of several values. `check` returns a sentence if the values contradict each other. */
export function group<V extends Values>(
  values: V,
  check: (read: ReadValues<V>) => string | undefined = () => undefined,
): Value<ReadValues<V>> {
  return {
    settings: settingsOf(values),
    read(env) {
      const read = readValues(values, env)
      const problem = check(read)
      if (problem !== undefined) throw new SettingsError([problem])
      return read
    },
  }
}

/** Values that are used only when a switch is on; otherwise undefined. */
export function ifEnabled<V extends Values>(
  isEnabled: Value<boolean>,
  values: V,
): Value<ReadValues<V> | undefined> {
  return {
    settings: [...isEnabled.settings, ...settingsOf(values)],
    read(env) {
      const { enabled, read } = readValues({ enabled: isEnabled, read: group(values) }, env)
      return enabled ? read : undefined
    },
  }
}

type Defined<T> = { [K in keyof T]: NonNullable<T[K]> }

/**
 * Settings that have an effect only together: either all of `required` are set or none is. `check` returns a sentence if
 * the optional values contradict that none is set.
 */
export function allOrNone<R extends Values, O extends Values>(
  required: R,
  optional: O,
  check: (read: ReadValues<O>) => string | undefined = () => undefined,
): Value<(Defined<ReadValues<R>> & ReadValues<O>) | undefined> {
  const requiredNames = settingsOf(required).map(({ name }) => name)
  return {
    settings: [...settingsOf(required), ...settingsOf(optional)],
    read(env) {
      const missing = requiredNames.filter((name) => !env[name])
      const [present] = requiredNames.filter((name) => env[name])
      const isPartial = present !== undefined && missing.length > 0
      const problem = `${present} needs ${missing.join(', ')} too: set all or none.`
      const read = readValues({ ...required, ...optional }, env, isPartial ? [problem] : [])
      const contradiction = present === undefined ? check(read as ReadValues<O>) : undefined
      if (contradiction !== undefined) throw new SettingsError([contradiction])
      return present === undefined ? undefined : (read as Defined<ReadValues<R>> & ReadValues<O>)
    },
  }
}

export const text = (value: string) => value

/** An empty text means that the setting is not set. */
export const optional =
  <T>(read: Read<T>) =>
  (value: string): T | undefined =>
    value === '' ? undefined : read(value)

export function integer(min: number, max: number): Read<number> {
  return (value) => {
    const n = /^\d{1,10}$/.test(value) ? Number(value) : Number.NaN
    if (!(n >= min && n <= max))
      throw new InvalidValue(`must be a whole number from ${min} to ${max}, not "${value}"`)
    return n
  }
}

/** Reads a number of units as milliseconds. */
export function duration(min: number, max: number, unitMs: number): Read<number> {
  const read = integer(min, max)
  return (value) => read(value) * unitMs
}

export function choice<const T extends string>(...allowed: T[]): Read<T> {
  return (value) => {
    const found = allowed.find((word) => word === value)
    if (found === undefined) throw new InvalidValue(`must be one of ${allowed.join(', ')}, not "${value}"`)
    return found
  }
}

export const onOff = (value: string) => choice('on', 'off')(value) === 'on'
export const trueFalse = (value: string) => choice('true', 'false')(value) === 'true'

export function url(...protocols: string[]): Read<string> {
  return (value) => {
    const parsed = URL.parse(value)
    if (!parsed || !protocols.includes(parsed.protocol)) {
      const starts = protocols.map((protocol) => `${protocol}//`).join(' or ')
      throw new InvalidValue(`must be a URL that starts with ${starts}`)
    }
    return value
  }
}
