// What RFC 8216 asks of playlists, by its sections. Written apart from the code that makes them, so that both do not
// err alike.

import { type Form, forms, type Kind, type Tag, tags } from './playlist-tags.ts'

type Line = { number: number; name: string; value: string }
type Attributes = Map<string, string>
type Say = (number: number, breach: string) => void

/** Every breach in a sentence with its line; none for a good playlist. */
export function findBreaches(text: string, kind: Kind): string[] {
  const breaches: string[] = []
  const say: Say = (number, breach) => breaches.push(`line ${number}: ${breach}`)
  const lines = readLines(text, say)
  checkTags(lines, kind, say)
  checkVersion(lines, say)
  if (kind === 'master') checkMaster(lines, say)
  else checkMedia(lines, say)
  return breaches
}

/** 4.1; an address is a line without a name, and comments are left out. */
function readLines(text: string, say: Say): Line[] {
  if (!text.startsWith('#EXTM3U\n') && !text.startsWith('#EXTM3U\r\n')) say(1, 'does not begin with EXTM3U')
  if (!text.endsWith('\n')) say(text.split('\n').length, 'the last line has no end')
  return text.split(/\r?\n/).flatMap((line, i): Line[] => {
    const number = i + 1
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what must not be there
    if (/[\u0000-\u001f\u007f-\u009f\ufeff]/.test(line)) say(number, 'has a control character')
    if (line === '' || (line.startsWith('#') && !line.startsWith('#EXT'))) return []
    if (!line.startsWith('#')) return [{ number, name: '', value: line }]
    const [, name = '', value = ''] = /^#([^:]*):?(.*)$/.exec(line) ?? []
    return [{ number, name, value }]
  })
}

function checkTags(lines: Line[], kind: Kind, say: Say): void {
  const seen = new Set<string>()
  for (const { number, name, value } of lines) {
    if (name === '') {
      checkAddress(number, value, say)
      continue
    }
    const tag = tags[name]
    if (!tag) {
      say(number, `${name} is not known`)
      continue
    }
    if (tag.of !== 'both' && tag.of !== kind) say(number, `${name} does not belong in a ${kind} playlist`)
    if (seen.has(name) && !tag.isRepeated && !tag.isOfSegment) say(number, `${name} comes again`)
    seen.add(name)
    if (tag.value && !tag.value.test(value)) say(number, `${name} has the value "${value}"`)
    const attributes = tag.attributes && readAttributes(value)
    if (tag.attributes && attributes) checkAttributes(number, name, attributes, tag.attributes, say)
    else if (tag.attributes) say(number, `${name} has no valid list of attributes`)
  }
}

/** Ours are relative and stay below the playlist. */
function checkAddress(number: number, address: string, say: Say): void {
  const base = 'http://host/a/b/c/list.m3u8'
  const resolved = URL.canParse(address, base) ? new URL(address, base) : undefined
  if (!resolved || /\s/.test(address)) say(number, `"${address}" is not an address`)
  else if (/^([a-z][a-z0-9+.-]*:|\/)/i.test(address)) say(number, `"${address}" is not relative`)
  else if (!resolved.pathname.startsWith('/a/b/c/')) say(number, `"${address}" leads out of its folder`)
}

/** Undefined where the list is malformed or has a name twice. */
function readAttributes(value: string): Attributes | undefined {
  const attributes: Attributes = new Map()
  const pattern = /([A-Z0-9-]+)=("[^"\r\n]*"|[^",\s]+)(,(?=.)|$)/y
  while (pattern.lastIndex < value.length) {
    const [, name, each] = pattern.exec(value) ?? []
    if (name === undefined || each === undefined || attributes.has(name)) return undefined
    attributes.set(name, each)
  }
  return attributes
}

function checkAttributes(
  number: number,
  tag: string,
  attributes: Attributes,
  known: NonNullable<Tag['attributes']>,
  say: Say,
): void {
  for (const [name, form] of Object.entries(known)) {
    const value = attributes.get(name)
    if (value === undefined && form.startsWith('!')) say(number, `${tag} lacks ${name}`)
    if (value !== undefined && !forms[form.replace('!', '') as Form].test(value))
      say(number, `${name} has the value ${value}`)
  }
  for (const name of attributes.keys()) if (!(name in known)) say(number, `${tag} has ${name}`)
  const uri = attributes.get('URI')
  if (uri) checkAddress(number, unquoted(uri), say)
}

const unquoted = (value: string) => value.replaceAll('"', '')

/** 7 */
function checkVersion(lines: Line[], say: Say): void {
  const stated = Number(lines.find(({ name }) => name === 'EXT-X-VERSION')?.value ?? 1)
  for (const { number, name, value } of lines) {
    const needed =
      name === 'EXT-X-MAP'
        ? 6
        : name === 'EXT-X-BYTERANGE'
          ? 4
          : /^\d+\./.test(value) && name === 'EXTINF'
            ? 3
            : 1
    if (stated < needed) say(number, `${name} needs version ${needed}, and ${stated} is stated`)
  }
}

/** 4.3.4 */
function checkMaster(lines: Line[], say: Say): void {
  const groups = new Map<string, string[]>()
  const withDefault = new Set<string>()
  for (const { number, name, value } of lines) {
    if (name !== 'EXT-X-MEDIA') continue
    const media: Attributes = readAttributes(value) ?? new Map()
    const type = media.get('TYPE') ?? ''
    if (!/^(AUDIO|VIDEO|SUBTITLES|CLOSED-CAPTIONS)$/.test(type)) say(number, `TYPE is ${type}`)
    if (type === 'CLOSED-CAPTIONS' ? media.has('URI') : type === 'SUBTITLES' && !media.has('URI'))
      say(number, `URI does not fit ${type}`)
    if ((type === 'CLOSED-CAPTIONS') !== media.has('INSTREAM-ID'))
      say(number, `INSTREAM-ID does not fit ${type}`)
    if (media.get('DEFAULT') === 'YES' && media.get('AUTOSELECT') === 'NO')
      say(number, 'DEFAULT needs AUTOSELECT')
    const group = `${type} ${media.get('GROUP-ID')}`
    const names = groups.get(group) ?? []
    if (names.includes(media.get('NAME') ?? '')) say(number, 'NAME comes again in the group')
    groups.set(group, [...names, media.get('NAME') ?? ''])
    if (media.get('DEFAULT') === 'YES' && withDefault.has(group)) say(number, 'the group has two defaults')
    if (media.get('DEFAULT') === 'YES') withDefault.add(group)
  }
  let streams = 0
  for (const [i, { number, name, value }] of lines.entries()) {
    if (name === '' && lines[i - 1]?.name !== 'EXT-X-STREAM-INF')
      say(number, 'an address without EXT-X-STREAM-INF')
    if (name !== 'EXT-X-STREAM-INF') continue
    streams++
    if (lines[i + 1]?.name !== '') say(number, 'EXT-X-STREAM-INF is not followed by an address')
    const attributes: Attributes = readAttributes(value) ?? new Map()
    for (const type of ['AUDIO', 'VIDEO', 'SUBTITLES']) {
      const group = attributes.get(type)
      if (group !== undefined && !groups.has(`${type} ${group}`))
        say(number, `there is no group ${type} ${group}`)
    }
    const [peak, average] = ['BANDWIDTH', 'AVERAGE-BANDWIDTH'].map((each) => Number(attributes.get(each)))
    if (average! > peak!) say(number, 'AVERAGE-BANDWIDTH is above BANDWIDTH')
  }
  if (streams === 0) say(lines.length, 'there is no EXT-X-STREAM-INF')
}

/** 4.3.2 and 4.3.3 */
function checkMedia(lines: Line[], say: Say): void {
  const find = (wanted: string) => lines.find(({ name }) => name === wanted)
  const target = find('EXT-X-TARGETDURATION')
  if (!target) say(1, 'there is no EXT-X-TARGETDURATION')
  const type = find('EXT-X-PLAYLIST-TYPE')
  if (type?.value === 'VOD' && !find('EXT-X-ENDLIST')) say(type.number, 'VOD without EXT-X-ENDLIST')
  let seconds: number | undefined
  let total = 0
  let segments = 0
  let hasMap = false
  let last = 0
  for (const { number, name, value } of lines) {
    last = number
    if (name === 'EXT-X-MAP') hasMap = true
    if (/^EXT-X-(MEDIA|DISCONTINUITY)-SEQUENCE$/.test(name) && segments > 0)
      say(number, `${name} after a segment`)
    if (name === 'EXTINF') {
      if (seconds !== undefined) say(number, 'EXTINF without an address before')
      seconds = Number.parseFloat(value)
      if (Math.round(seconds) > Number(target?.value))
        say(number, `${seconds} s are above EXT-X-TARGETDURATION`)
    }
    if (name !== '') continue
    if (seconds === undefined) say(number, 'a segment without EXTINF')
    if (/\.(m4s|mp4)$/.test(value) && !hasMap) say(number, 'a fragment without EXT-X-MAP')
    total += seconds ?? 0
    seconds = undefined
    segments++
  }
  if (seconds !== undefined) say(last, 'EXTINF without an address')
  const start = find('EXT-X-START')
  const offset = Number(readAttributes(start?.value ?? '')?.get('TIME-OFFSET') ?? 0)
  if (start && Math.abs(offset) > total) say(start.number, 'TIME-OFFSET lies outside of the playlist')
}

/** 6.2.1: of a list that grows, only its end changes, and no more once it has ended. */
export function findGrowthBreaches(before: string, after: string): string[] {
  const isSteady = (line: string) => !/^(#EXT-X-(PLAYLIST-TYPE|START|ENDLIST)|$)/.test(line)
  const [old, now] = [before, after].map((text) => text.split('\n').filter(isSteady))
  if (before.includes('#EXT-X-ENDLIST') && before !== after) return ['changed after its end']
  return old!.flatMap((line, i) => (line === now![i] ? [] : [`"${line}" became "${now![i]}"`]))
}
