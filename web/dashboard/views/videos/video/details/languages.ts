/** The spoken languages that the API accepts. */
export const spokenLanguages = [
  ...['ar', 'ca', 'cs', 'da', 'de', 'el', 'en', 'es', 'fa', 'fi', 'fr', 'he', 'hi', 'hr', 'hu', 'it', 'ja'],
  ...['ko', 'ml', 'nl', 'nn', 'no', 'pl', 'pt', 'ru', 'sk', 'sl', 'te', 'tr', 'uk', 'ur', 'vi', 'zh'],
]

const names = new Intl.DisplayNames(undefined, { type: 'language', fallback: 'code' })

/** The name of a language in the language of the browser, for example "German". */
export function languageName(tag: string): string {
  try {
    return names.of(tag) ?? tag
  } catch {
    return tag
  }
}
