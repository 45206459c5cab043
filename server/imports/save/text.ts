/** The text, cut to what fits into our own limits. Adds a note if that changes it. */
export function fit(text: string, maxLength: number, name: string, notes: string[]): string {
  // Most texts are short, and a hostile one may have gigabytes.
  if (text.length <= maxLength) return text
  const letters = [...text.slice(0, 2 * maxLength)]
  if (letters.length <= maxLength && text.length <= 2 * maxLength) return text
  notes.push(`The ${name} was cut after ${maxLength} characters.`)
  return letters.slice(0, maxLength).join('')
}
