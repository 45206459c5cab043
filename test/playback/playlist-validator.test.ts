import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findGrowthViolations, findViolations } from '../support/media/playlist-validator.ts'

const master = `#EXTM3U
#EXT-X-VERSION:7
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="Audio",DEFAULT=YES,AUTOSELECT=YES,URI="sound/manifest.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=528000,AVERAGE-BANDWIDTH=300000,CODECS="avc1.640015,mp4a.40.2",RESOLUTION=426x240,FRAME-RATE=25.000,AUDIO="sound"
240p/manifest.m3u8
`

const media = `#EXTM3U
#EXT-X-VERSION:7
#EXT-X-TARGETDURATION:4
#EXT-X-MEDIA-SEQUENCE:0
#EXT-X-PLAYLIST-TYPE:VOD
#EXT-X-MAP:URI="init.mp4"
#EXTINF:2.000000,
video-0.m4s
#EXTINF:4.480000,
video-1.m4s
#EXT-X-ENDLIST
`

test('valid playlists have no violations', () => {
  assert.deepEqual(findViolations(master, 'master'), [])
  assert.deepEqual(findViolations(media, 'media'), [])
  assert.deepEqual(findViolations(media.replaceAll('\n', '\r\n'), 'media'), [])
  const growing = media.replace(':VOD', ':EVENT\n#EXT-X-START:TIME-OFFSET=0').replace('#EXT-X-ENDLIST\n', '')
  assert.deepEqual(findViolations(growing, 'media'), [])
})

test('every violation in a master playlist is reported', () => {
  for (const [from, to, violation] of [
    ['#EXTM3U\n', '', 'does not start with EXTM3U'],
    ['#EXT-X-INDEPENDENT', '#EXT-X-DEPENDENT', 'EXT-X-DEPENDENT-SEGMENTS is unknown'],
    ['#EXT-X-VERSION:7', '#EXT-X-VERSION:x', 'EXT-X-VERSION has the value "x"'],
    ['#EXT-X-VERSION:7', '#EXT-X-VERSION:7\n#EXT-X-VERSION:7', 'EXT-X-VERSION is repeated'],
    ['BANDWIDTH=528000,', '', 'EXT-X-STREAM-INF lacks BANDWIDTH'],
    ['BANDWIDTH=528000', 'BANDWIDTH=5.5', 'BANDWIDTH has the value 5.5'],
    ['AVERAGE-BANDWIDTH=3', 'AVERAGE-BANDWIDTH=9', 'AVERAGE-BANDWIDTH is above BANDWIDTH'],
    ['RESOLUTION=426x240', 'RESOLUTION=426', 'RESOLUTION has the value 426'],
    ['FRAME-RATE=25.000', 'FRAME-RATE="25"', 'FRAME-RATE has the value "25"'],
    ['FRAME-RATE', 'FRAMERATE', 'EXT-X-STREAM-INF has the unknown attribute FRAMERATE'],
    ['"avc1.640015,mp4a.40.2"', 'avc1.640015,mp4a.40.2', 'EXT-X-STREAM-INF has an invalid attribute list'],
    ['FRAME-RATE=25.000', 'FRAME-RATE=25.000,FRAME-RATE=25.000', 'has an invalid attribute list'],
    ['AUDIO="sound"\n', 'AUDIO="other"\n', 'there is no group AUDIO "other"'],
    ['240p/manifest.m3u8\n', '', 'EXT-X-STREAM-INF is not followed by a URI'],
    ['240p/manifest.m3u8\n', '240p/manifest.m3u8\n360p/manifest.m3u8\n', 'a URI without'],
    ['240p/manifest', 'http://host/240p', 'is not relative'],
    ['240p/manifest', '../240p', 'leaves the folder of the playlist'],
    ['240p/manifest', '240p manifest', 'is not a URI'],
    ['NAME="Audio",', '', 'EXT-X-MEDIA lacks NAME'],
    ['TYPE=AUDIO', 'TYPE=NOISE', 'TYPE is NOISE'],
    ['DEFAULT=YES', 'DEFAULT=MAYBE', 'DEFAULT has the value MAYBE'],
    ['AUTOSELECT=YES', 'AUTOSELECT=NO', 'DEFAULT needs AUTOSELECT'],
    ['#EXT-X-INDEPENDENT-SEGMENTS', '#EXT-X-TARGETDURATION:4', 'does not belong in a master playlist'],
    [/#EXT-X-STREAM-INF.*\n.*\n/, '', 'EXT-X-STREAM-INF is missing'],
    ['240p/manifest.m3u8\n', '240p/manifest.m3u8', 'the last line has no line break'],
    ['Audio', 'Au\tdio', 'contains a control character'],
  ] as const) {
    assertViolation(findViolations(master.replace(from, to), 'master'), violation)
  }
  const [line = ''] = /#EXT-X-MEDIA.*\n/.exec(master) ?? []
  const twice = findViolations(master.replace(line, line + line), 'master')
  assert.match(twice.join('\n'), /NAME is repeated in the group\n.*the group has two defaults/)
})

test('every violation in a media playlist is reported', () => {
  for (const [from, to, violation] of [
    ['#EXT-X-TARGETDURATION:4\n', '', 'EXT-X-TARGETDURATION is missing'],
    ['4.480000', '4.500000', '4.5 s exceed EXT-X-TARGETDURATION'],
    ['VERSION:7', 'VERSION:5', 'EXT-X-MAP needs version 6, but the playlist has version 5'],
    ['#EXTINF:2.000000,\n', '', 'a segment without EXTINF'],
    ['#EXTINF:2.000000,', '#EXTINF:2.000000', 'EXTINF has the value'],
    ['video-0.m4s\n', '', 'the previous EXTINF has no URI'],
    ['video-1.m4s\n', '', 'EXTINF has no URI'],
    ['#EXT-X-MAP:URI="init.mp4"\n', '', 'a fragment without EXT-X-MAP'],
    ['URI="init.mp4"', 'BYTERANGE="5@0"', 'EXT-X-MAP lacks URI'],
    ['#EXT-X-ENDLIST\n', '', 'VOD without EXT-X-ENDLIST'],
    ['VOD', 'LIVE', 'EXT-X-PLAYLIST-TYPE has the value "LIVE"'],
    ['#EXT-X-ENDLIST', '#EXT-X-MEDIA-SEQUENCE:0', 'EXT-X-MEDIA-SEQUENCE after a segment'],
    ['#EXT-X-MEDIA-SEQUENCE:0', '#EXT-X-START:TIME-OFFSET=9', 'TIME-OFFSET is outside'],
    ['#EXT-X-MEDIA-SEQUENCE:0', '#EXT-X-START:PRECISE=YES', 'EXT-X-START lacks TIME-OFFSET'],
    ['#EXT-X-ENDLIST', '#EXT-X-STREAM-INF:BANDWIDTH=1', 'does not belong in a media playlist'],
  ] as const) {
    assertViolation(findViolations(media.replace(from, to), 'media'), violation)
  }
})

test('a change before the end of a growing playlist is reported', () => {
  const growing = media.replace(':VOD', ':EVENT').replace(/#EXTINF:4\.48.*$/s, '')
  assert.deepEqual(findGrowthViolations(growing, media), [])
  assertViolation(findGrowthViolations(growing, media.replace('DURATION:4', 'DURATION:5')), 'changed to')
  assertViolation(
    findGrowthViolations(media.replace('#EXT-X-ENDLIST\n', ''), growing),
    'changed to "undefined"',
  )
  assertViolation(
    findGrowthViolations(media, `${media}#EXTINF:1.0,\nvideo-2.m4s\n`),
    'changed after EXT-X-ENDLIST',
  )
})

function assertViolation(violations: string[], expected: string): void {
  assert.ok(
    violations.some((violation) => violation.includes(expected)),
    `${expected}: ${JSON.stringify(violations)}`,
  )
}
