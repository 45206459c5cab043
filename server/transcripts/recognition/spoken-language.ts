import { languages } from '../../videos/languages.ts'

type Language = (typeof languages)[number]

const isLanguage = (code: string): code is Language => languages.some((each) => each === code)

const englishNames = new Intl.DisplayNames(['en'], { type: 'language' })

/** Whisper's names and codes that differ from those of the API. */
const aliases: Record<string, Language> = {
  ...Object.fromEntries(languages.map((code) => [englishNames.of(code)!.toLowerCase(), code])),
  nynorsk: 'nn',
  nb: 'no',
  castilian: 'es',
  valencian: 'ca',
  flemish: 'nl',
  iw: 'he',
  mandarin: 'zh',
  cantonese: 'zh',
  yue: 'zh',
}

/** Reads a name (`english`) or a tag (`en`, `en-US`), as servers report it. Undefined if the API has no such language. */
export function readSpokenLanguage(reported: string): Language | undefined {
  const name = reported.trim().toLowerCase()
  const [base = ''] = name.split(/[-_]/)
  if (isLanguage(base)) return base
  return Object.hasOwn(aliases, name) ? aliases[name] : undefined
}
