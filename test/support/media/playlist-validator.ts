// Validates playlists against RFC 8216. It shares no code with the server, so that both cannot have the same mistake.
// Numbers in comments are sections of the RFC.

import { type Kind, type Tag, tags, type ValueType, valueTypes } from './playlist-tags.ts'

type Line = { number: number; name: string; value: string }
type Attributes = Map<string, string>
type Report = (number: number, violation: string) => void

/** Returns a message with a line number for each violation. */
export function findViolations(text: string, kind: Kind): string[] {
  const violations: string[] = []
  const report: Report = (number, violation) => violations.push(`line ${number}: ${violation}`)
  const lines = readLines(text, report)
  checkTags(lines, kind, report)
  checkVersion(lines, report)
  if (kind === 'master') checkMaster(lines, report)
  else checkMedia(lines, report)
  return violations
}

/** 4.1. A URI is a line without a name. Comments are left out. */
function readLines(text: string, report: Report): Line[] {
  if (!text.startsWith('#EXTM3U\n') && !text.startsWith('#EXTM3U\r\n'))
    report(1, 'does not start with EXTM3U')
  if (!text.endsWith('\n')) report(text.split('\n').length, 'the last line has no line break')
  return text.split(/\r?\n/).flatMap((line, i): Line[] => {
    const number = i + 1
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are not allowed
    if (/[\u0000-\u001f\u007f-\u009f\ufeff]/.test(line)) report(number, 'contains a control character')
    if (line === '' || (line.startsWith('#') && !line.startsWith('#EXT'))) return []
    if (!line.startsWith('#')) return [{ number, name: '', value: line }]
    const [, name = '', value = ''] = /^#([^:]*):?(.*)$/.exec(line) ?? []
    return [{ number, name, value }]
  })
}

function checkTags(lines: Line[], kind: Kind, report: Report): void {
  const seen = new Set<string>()
  for (const { number, name, value } of lines) {
    if (name === '') {
      checkUri(number, value, report)
      continue
    }
    const tag = tags[name]
    if (!tag) {
      report(number, `${name} is unknown`)
      continue
    }
    if (tag.of !== 'both' && tag.of !== kind) report(number, `${name} does not belong in a ${kind} playlist`)
    if (seen.has(name) && !tag.isRepeated && !tag.isOfSegment) report(number, `${name} is repeated`)
    seen.add(name)
    if (tag.value && !tag.value.test(value)) report(number, `${name} has the value "${value}"`)
    const attributes = tag.attributes && readAttributes(value)
    if (tag.attributes && attributes) checkAttributes(number, name, attributes, tag.attributes, report)
    else if (tag.attributes) report(number, `${name} has an invalid attribute list`)
  }
}

/** The server writes relative URIs below the folder of the playlist. */
function checkUri(number: number, uri: string, report: Report): void {
  const base = 'http://host/a/b/c/list.m3u8'
  const resolved = URL.canParse(uri, base) ? new URL(uri, base) : undefined
  if (!resolved || /\s/.test(uri)) report(number, `"${uri}" is not a URI`)
  else if (/^([a-z][a-z0-9+.-]*:|\/)/i.test(uri)) report(number, `"${uri}" is not relative`)
  else if (!resolved.pathname.startsWith('/a/b/c/'))
    report(number, `"${uri}" leaves the folder of the playlist`)
}

/** Returns undefined if the list is malformed or has a duplicate name. */
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
  report: Report,
): void {
  for (const [name, type] of Object.entries(known)) {
    const value = attributes.get(name)
    if (value === undefined && type.startsWith('!')) report(number, `${tag} lacks ${name}`)
    if (value !== undefined && !valueTypes[type.replace('!', '') as ValueType].test(value))
      report(number, `${name} has the value ${value}`)
  }
  for (const name of attributes.keys())
    if (!(name in known)) report(number, `${tag} has the unknown attribute ${name}`)
  const uri = attributes.get('URI')
  if (uri) checkUri(number, unquoted(uri), report)
}

const unquoted = (value: string) => value.replaceAll('"', '')

/** 7 */
function checkVersion(lines: Line[], report: Report): void {
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
    if (stated < needed)
      report(number, `${name} needs version ${needed}, but the playlist has version ${stated}`)
  }
}

/** 4.3.4 */
function checkMaster(lines: Line[], report: Report): void {
  const groups = new Map<string, string[]>()
  const withDefault = new Set<string>()
  for (const { number, name, value } of lines) {
    if (name !== 'EXT-X-MEDIA') continue
    const media: Attributes = readAttributes(value) ?? new Map()
    const type = media.get('TYPE') ?? ''
    if (!/^(AUDIO|VIDEO|SUBTITLES|CLOSED-CAPTIONS)$/.test(type)) report(number, `TYPE is ${type}`)
    if (type === 'CLOSED-CAPTIONS' ? media.has('URI') : type === 'SUBTITLES' && !media.has('URI'))
      report(number, `URI does not fit ${type}`)
    if ((type === 'CLOSED-CAPTIONS') !== media.has('INSTREAM-ID'))
      report(number, `INSTREAM-ID does not fit ${type}`)
    if (media.get('DEFAULT') === 'YES' && media.get('AUTOSELECT') === 'NO')
      report(number, 'DEFAULT needs AUTOSELECT')
    const group = `${type} ${media.get('GROUP-ID')}`
    const names = groups.get(group) ?? []
    if (names.includes(media.get('NAME') ?? '')) report(number, 'NAME is repeated in the group')
    groups.set(group, [...names, media.get('NAME') ?? ''])
    if (media.get('DEFAULT') === 'YES' && withDefault.has(group)) report(number, 'the group has two defaults')
    if (media.get('DEFAULT') === 'YES') withDefault.add(group)
  }
  let streams = 0
  for (const [i, { number, name, value }] of lines.entries()) {
    if (name === '' && lines[i - 1]?.name !== 'EXT-X-STREAM-INF')
      report(number, 'a URI without EXT-X-STREAM-INF')
    if (name !== 'EXT-X-STREAM-INF') continue
    streams++
    if (lines[i + 1]?.name !== '') report(number, 'EXT-X-STREAM-INF is not followed by a URI')
    const attributes: Attributes = readAttributes(value) ?? new Map()
    for (const type of ['AUDIO', 'VIDEO', 'SUBTITLES']) {
      const group = attributes.get(type)
      if (group !== undefined && !groups.has(`${type} ${group}`))
        report(number, `there is no group ${type} ${group}`)
    }
    const [peak, average] = ['BANDWIDTH', 'AVERAGE-BANDWIDTH'].map((each) => Number(attributes.get(each)))
    if (average! > peak!) report(number, 'AVERAGE-BANDWIDTH is above BANDWIDTH')
  }
  if (streams === 0) report(lines.length, 'EXT-X-STREAM-INF is missing')
}

/** 4.3.2 and 4.3.3 */
function checkMedia(lines: Line[], report: Report): void {
  const find = (wanted: string) => lines.find(({ name }) => name === wanted)
  const target = find('EXT-X-TARGETDURATION')
  if (!target) report(1, 'EXT-X-TARGETDURATION is missing')
  const type = find('EXT-X-PLAYLIST-TYPE')
  if (type?.value === 'VOD' && !find('EXT-X-ENDLIST')) report(type.number, 'VOD without EXT-X-ENDLIST')
  let seconds: number | undefined
  let total = 0
  let segments = 0
  let hasMap = false
  let last = 0
  for (const { number, name, value } of lines) {
    last = number
    if (name === 'EXT-X-MAP') hasMap = true
    if (/^EXT-X-(MEDIA|DISCONTINUITY)-SEQUENCE$/.test(name) && segments > 0)
      report(number, `${name} after a segment`)
    if (name === 'EXTINF') {
      if (seconds !== undefined) report(number, 'the previous EXTINF has no URI')
      seconds = Number.parseFloat(value)
      if (Math.round(seconds) > Number(target?.value))
        report(number, `${seconds} s exceed EXT-X-TARGETDURATION`)
    }
    if (name !== '') continue
    if (seconds === undefined) report(number, 'a segment without EXTINF')
    if (/\.(m4s|mp4)$/.test(value) && !hasMap) report(number, 'a fragment without EXT-X-MAP')
    total += seconds ?? 0
    seconds = undefined
    segments++
  }
  if (seconds !== undefined) report(last, 'EXTINF has no URI')
  const start = find('EXT-X-START')
  const offset = Number(readAttributes(start?.value ?? '')?.get('TIME-OFFSET') ?? 0)
  if (start && Math.abs(offset) > total) report(start.number, 'TIME-OFFSET is outside the playlist')
}

/** 6.2.1. A growing playlist may change only at its end, and no longer after EXT-X-ENDLIST. */
export function findGrowthViolations(before: string, after: string): string[] {
  const isSteady = (line: string) => !/^(#EXT-X-(PLAYLIST-TYPE|START|ENDLIST)|$)/.test(line)
  const [oldLines, newLines] = [before, after].map((text) => text.split('\n').filter(isSteady))
  if (before.includes('#EXT-X-ENDLIST') && before !== after) return ['changed after EXT-X-ENDLIST']
  return oldLines!.flatMap((line, i) =>
    line === newLines![i] ? [] : [`"${line}" changed to "${newLines![i]}"`],
  )
}
