import { basename } from 'node:path'
import { type FieldError, httpErrors, invalid } from '../lib/errors.ts'
import { isId } from '../lib/ids.ts'
import type { VideoUpdate } from './input-schemas.ts'
import type { Metadata } from './tables.ts'

/** Reads both forms of metadata: `{key, value}` and `{name: value}`. Keys must not repeat. */
export function readMetadata(items: NonNullable<VideoUpdate['metadata']>): Metadata[] {
  const problems: FieldError[] = []
  const pairs = new Map<string, string>()
  for (const [i, item] of items.entries()) {
    const pair = readPair(item)
    if (typeof pair === 'string') {
      problems.push({
        kind: httpErrors.invalidAttribute,
        title: `"metadata[${i}]" ${pair}.`,
        name: `metadata[${i}]`,
      })
    } else if (pairs.has(pair.key)) {
      const title = `"metadata[${i}]" repeats the key "${pair.key}".`
      problems.push({ kind: httpErrors.invalidAttribute, title, name: `metadata[${i}]` })
    } else {
      pairs.set(pair.key, pair.value)
    }
  }
  const [first, ...rest] = problems
  if (first) throw invalid([first, ...rest])
  return [...pairs].map(([key, value]) => ({ key, value }))
}

const maxKeyLength = 255

function readPair(item: Record<string, string>): Metadata | string {
  const names = Object.keys(item)
  const [name = ''] = names
  let pair: Metadata
  if (names.length === 2 && item.key !== undefined && item.value !== undefined) {
    pair = { key: item.key, value: item.value }
  } else if (names.length === 1 && name !== 'key' && name !== 'value') {
    pair = { key: name, value: item[name] ?? '' }
  } else {
    return 'must be an object with "key" and "value", or with one name and its value'
  }
  if (pair.key === '') return 'has an empty key'
  if ([...pair.key].length > maxKeyLength) return `has a key of more than ${maxKeyLength} characters`
  if (pair.key.includes('\0') || !pair.key.isWellFormed())
    return 'has a key with a NUL character or half of a surrogate pair'
  return pair
}

export type Source = { type: 'url'; url: string } | { type: 'clone'; videoId: string }

/** A URL to fetch or a video to copy; undefined if it is neither. */
export function readSource(source: string): Source | undefined {
  if (isId('vi', source)) return { type: 'clone', videoId: source }
  const url = URL.parse(source)
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined
  return { type: 'url', url: source }
}

/** The file name in the URL. */
export function nameFromUrl(url: string): string {
  const name = basename(new URL(url).pathname)
  try {
    const decoded = decodeURIComponent(name)
    return decoded.includes('\0') || !decoded.isWellFormed() ? name : decoded
  } catch {
    return name
  }
}
