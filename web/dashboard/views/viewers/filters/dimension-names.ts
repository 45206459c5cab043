import { messages } from '../../../messages/messages.ts'
import type { TextFilter } from '../viewers-search.ts'

const countries = new Intl.DisplayNames(undefined, { type: 'region', fallback: 'code' })

/** A code that is not a country is shown as it is. */
function countryName(code: string): string {
  try {
    return countries.of(code.toUpperCase()) ?? code
  } catch {
    return code
  }
}

/** The API has lower-case names of systems and browsers. */
const properNames: Record<string, string> = {
  'mac osx': 'macOS',
  ios: 'iOS',
  ipados: 'iPadOS',
  tvos: 'tvOS',
  'chrome os': 'ChromeOS',
}

const capitalise = (name: string) =>
  /^[a-z0-9 ]+$/.test(name) ? name.replace(/(^| )[a-z]/g, (start) => start.toUpperCase()) : name

const isDevice = (value: string): value is keyof typeof messages.viewers.devices =>
  Object.hasOwn(messages.viewers.devices, value)

/** What a value of a dimension is called on the page. */
export function labelOf(dimension: TextFilter, value: string): string {
  if (dimension === 'referrer') return value === '' ? messages.viewers.noReferrer : value
  if (value === 'unknown') return messages.viewers.unknown
  if (dimension === 'country') return countryName(value)
  if (dimension === 'device') return isDevice(value) ? messages.viewers.devices[value] : capitalise(value)
  if (dimension === 'os' || dimension === 'browser') return properNames[value] ?? capitalise(value)
  return value
}

type Titles = ReadonlyMap<string, string | null | undefined>

/** The same, with the title of a video or live stream if it is known. Null if it was deleted. */
export function nameOf(dimension: TextFilter, value: string, titles: Titles): string {
  if (dimension !== 'media') return labelOf(dimension, value)
  const title = titles.get(value)
  return title === null ? `${messages.viewers.deletedMedia} (${value})` : title || value
}

/** Only links that cannot run anything. */
export function safeLink(url: string): string | undefined {
  const parsed = URL.parse(url)
  return parsed && (parsed.protocol === 'https:' || parsed.protocol === 'http:') ? parsed.href : undefined
}
