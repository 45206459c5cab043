import { LRUCache } from 'lru-cache'
import { maxEntries } from './lru.ts'

/** Tags of languages, scripts, regions and variants. Extensions and private tags name no language. */
const tagPattern = /^[a-z]{2,3}(-[a-z0-9]{2,8}){0,3}$/i

/**
 * The tag in the usual spelling (RFC 5646, 2.1.1), so that `en-us` and `en-US` are the same. Undefined if a part of it
 * is unknown. Deprecated tags stay as they are: a client that sent `iw` does not find `he`.
 */
export function readLanguage(tag: string): string | undefined {
  if (!tagPattern.test(tag)) return undefined
  const [language = '', ...others] = tag.toLowerCase().split('-')
  const spelled = [language, ...others.map(spellSubtag)].join('-')
  try {
    return englishNames().of(spelled) === undefined ? undefined : spelled
  } catch {
    // The subtags are in the wrong order or of the wrong length.
    return undefined
  }
}

function spellSubtag(subtag: string): string {
  if (subtag.length === 2) return subtag.toUpperCase()
  return /^[a-z]{4}$/.test(subtag) ? subtag[0]!.toUpperCase() + subtag.slice(1) : subtag
}

let english: Intl.DisplayNames | undefined
const englishNames = () => {
  english ??= new Intl.DisplayNames('en', { type: 'language', fallback: 'none' })
  return english
}

/** A lookup takes 20 µs, and a list may have hundreds of languages. */
const names = new LRUCache<string, string>(maxEntries(1_000))

/** The name of a language in that language, such as `Français`. In English if the native name is unknown. */
export function nativeName(language: string): string {
  const known = names.get(language)
  if (known !== undefined) return known
  const options = { type: 'language', languageDisplay: 'standard' } as const
  const name = new Intl.DisplayNames([language, 'en'], options).of(language) ?? language
  const capitalized = capitalize(name, language)
  names.set(language, capitalized)
  return capitalized
}

/** Some languages write their names in lower case, but a menu of languages does not. Georgian has no capitals. */
function capitalize(name: string, language: string): string {
  const [first = '', ...rest] = name
  return /\p{Script=Georgian}/u.test(first) ? name : first.toLocaleUpperCase(language) + rest.join('')
}
