/** Differences between an example in the docs and the real value: fields that one of them lacks, and other types. */
export function compareShapes(example: unknown, real: unknown, path = ''): string[] {
  // Null stands for a value that is unknown or absent at that time.
  if (example === null || real === null) return []
  if (Array.isArray(example) && Array.isArray(real)) {
    // A list of results has to contain one, so that its fields are compared.
    if (real.length === 0) return path === '.data' && example.length > 0 ? ['.data is empty'] : []
    return example.flatMap((each, i) =>
      compareShapes(each, real[Math.min(i, real.length - 1)], `${path}[${i}]`),
    )
  }
  if (isObject(example) && isObject(real)) {
    const names = [...new Set([...Object.keys(example), ...Object.keys(real)])]
    return names.flatMap((name) => {
      if (!(name in real)) return [`${path}.${name} is only in the docs`]
      if (!(name in example)) return [`${path}.${name} is not in the docs`]
      return compareShapes(example[name], real[name], `${path}.${name}`)
    })
  }
  return typeof example === typeof real && Array.isArray(example) === Array.isArray(real)
    ? []
    : [`${path}: ${JSON.stringify(example)} and ${JSON.stringify(real)}`]
}

/** The texts of an example with the real texts that stand in their places, such as ids and secrets. */
export function pairTexts(example: unknown, real: unknown): [example: string, real: string][] {
  if (typeof example === 'string' && typeof real === 'string') return [[example, real]]
  if (!isObject(example) || !isObject(real)) return []
  return Object.entries(example).flatMap(([name, value]) => pairTexts(value, real[name]))
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
