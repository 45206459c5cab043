const variable = /\$KINORA_KEY|(?<=KINORA_KEY=)…/g
/** How programs read the variable, with the quotes that their language has. */
const expression =
  /process\.env\.KINORA_KEY|os\.environ\[(['"])KINORA_KEY\1\]|os\.Getenv\((")KINORA_KEY"\)|(?:System\.)?getenv\((['"])KINORA_KEY\3\)/g

/** A sample with the key instead of the variable KINORA_KEY. */
export function fillKey(code: string, key: string): string {
  const filled = code
    .replace(expression, (_, ...[python, go, other]: (string | undefined)[]) => {
      const quote = python ?? go ?? other ?? "'"
      return quote + key + quote
    })
    .replace(variable, () => key)
  // Go rejects an import that is not used.
  return /^package main/.test(filled) && !/\bos\./.test(filled) ? filled.replace('\t"os"\n', '') : filled
}

/** A key that needs no quotes in any language. Kinora creates only such keys. */
export const canFill = (key: string): boolean => /^[\w.~+/=-]{8,500}$/.test(key)
