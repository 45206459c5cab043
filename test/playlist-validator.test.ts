import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findBreaches, findGrowthBreaches } from './playlist-validator.ts'

const master = `#EXTM3U
#EXT-X-VERSION:7
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="Sound",DEFAULT=YES,AUTOSELECT=YES,URI="sound/manifest.m3u8"
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

test('good playlists have no breach', () => {
  assert.deepEqual(findBreaches(master, 'master'), [])
  assert.deepEqual(findBreaches(media, 'media'), [])
  assert.deepEqual(findBreaches(media.replaceAll('\n', '\r\n'), 'media'), [])
  const growing = media.replace(':VOD', ':EVENT\n#EXT-X-START:TIME-OFFSET=0').replace('#EXT-X-ENDLIST\n', '')
  assert.deepEqual(findBreaches(growing, 'media'), [])
})

test('each breach of a master playlist is named', () => {
  for (const [from, to, breach] of [
    ['#EXTM3U\n', '', 'does not begin with EXTM3U'],
    ['#EXT-X-INDEPENDENT', '#EXT-X-DEPENDENT', 'EXT-X-DEPENDENT-SEGMENTS is not known'],
    ['#EXT-X-VERSION:7', '#EXT-X-VERSION:x', 'EXT-X-VERSION has the value "x"'],
    ['#EXT-X-VERSION:7', '#EXT-X-VERSION:7\n#EXT-X-VERSION:7', 'EXT-X-VERSION comes again'],
    ['BANDWIDTH=528000,', '', 'EXT-X-STREAM-INF lacks BANDWIDTH'],
    ['BANDWIDTH=528000', 'BANDWIDTH=5.5', 'BANDWIDTH has the value 5.5'],
    ['AVERAGE-BANDWIDTH=3', 'AVERAGE-BANDWIDTH=9', 'AVERAGE-BANDWIDTH is above BANDWIDTH'],
    ['RESOLUTION=426x240', 'RESOLUTION=426', 'RESOLUTION has the value 426'],
    ['FRAME-RATE=25.000', 'FRAME-RATE="25"', 'FRAME-RATE has the value "25"'],
    ['FRAME-RATE', 'FRAMERATE', 'EXT-X-STREAM-INF has FRAMERATE'],
    ['"avc1.640015,mp4a.40.2"', 'avc1.640015,mp4a.40.2', 'EXT-X-STREAM-INF has no valid list of attributes'],
    ['FRAME-RATE=25.000', 'FRAME-RATE=25.000,FRAME-RATE=25.000', 'has no valid list of attributes'],
    ['AUDIO="sound"\n', 'AUDIO="other"\n', 'there is no group AUDIO "other"'],
    ['240p/manifest.m3u8\n', '', 'EXT-X-STREAM-INF is not followed by an address'],
    ['240p/manifest.m3u8\n', '240p/manifest.m3u8\n360p/manifest.m3u8\n', 'an address without'],
    ['240p/manifest', 'http://host/240p', 'is not relative'],
    ['240p/manifest', '../240p', 'leads out of its folder'],
    ['240p/manifest', '240p manifest', 'is not an address'],
    ['NAME="Sound",', '', 'EXT-X-MEDIA lacks NAME'],
    ['TYPE=AUDIO', 'TYPE=NOISE', 'TYPE is NOISE'],
    ['DEFAULT=YES', 'DEFAULT=MAYBE', 'DEFAULT has the value MAYBE'],
    ['AUTOSELECT=YES', 'AUTOSELECT=NO', 'DEFAULT needs AUTOSELECT'],
    ['#EXT-X-INDEPENDENT-SEGMENTS', '#EXT-X-TARGETDURATION:4', 'does not belong in a master playlist'],
    [/#EXT-X-STREAM-INF.*\n.*\n/, '', 'there is no EXT-X-STREAM-INF'],
    ['240p/manifest.m3u8\n', '240p/manifest.m3u8', 'the last line has no end'],
    ['Sound', 'So\tund', 'has a control character'],
  ] as const) {
    assertBreach(findBreaches(master.replace(from, to), 'master'), breach)
  }
  const [line = ''] = /#EXT-X-MEDIA.*\n/.exec(master) ?? []
  const twice = findBreaches(master.replace(line, line + line), 'master')
  assert.match(twice.join('\n'), /NAME comes again in the group\n.*the group has two defaults/)
})

test('each breach of a media playlist is named', () => {
  for (const [from, to, breach] of [
    ['#EXT-X-TARGETDURATION:4\n', '', 'there is no EXT-X-TARGETDURATION'],
    ['4.480000', '4.500000', '4.5 s are above EXT-X-TARGETDURATION'],
    ['VERSION:7', 'VERSION:5', 'EXT-X-MAP needs version 6, and 5 is stated'],
    ['#EXTINF:2.000000,\n', '', 'a segment without EXTINF'],
    ['#EXTINF:2.000000,', '#EXTINF:2.000000', 'EXTINF has the value'],
    ['video-0.m4s\n', '', 'EXTINF without an address before'],
    ['video-1.m4s\n', '', 'EXTINF without an address'],
    ['#EXT-X-MAP:URI="init.mp4"\n', '', 'a fragment without EXT-X-MAP'],
    ['URI="init.mp4"', 'BYTERANGE="5@0"', 'EXT-X-MAP lacks URI'],
    ['#EXT-X-ENDLIST\n', '', 'VOD without EXT-X-ENDLIST'],
    ['VOD', 'LIVE', 'EXT-X-PLAYLIST-TYPE has the value "LIVE"'],
    ['#EXT-X-ENDLIST', '#EXT-X-MEDIA-SEQUENCE:0', 'EXT-X-MEDIA-SEQUENCE after a segment'],
    ['#EXT-X-MEDIA-SEQUENCE:0', '#EXT-X-START:TIME-OFFSET=9', 'TIME-OFFSET lies outside'],
    ['#EXT-X-MEDIA-SEQUENCE:0', '#EXT-X-START:PRECISE=YES', 'EXT-X-START lacks TIME-OFFSET'],
    ['#EXT-X-ENDLIST', '#EXT-X-STREAM-INF:BANDWIDTH=1', 'does not belong in a media playlist'],
  ] as const) {
    assertBreach(findBreaches(media.replace(from, to), 'media'), breach)
  }
})

test('a list that changes elsewhere than at its end is found', () => {
  const growing = media.replace(':VOD', ':EVENT').replace(/#EXTINF:4\.48.*$/s, '')
  assert.deepEqual(findGrowthBreaches(growing, media), [])
  assertBreach(findGrowthBreaches(growing, media.replace('DURATION:4', 'DURATION:5')), 'became')
  assertBreach(findGrowthBreaches(media.replace('#EXT-X-ENDLIST\n', ''), growing), 'became "undefined"')
  assertBreach(findGrowthBreaches(media, `${media}#EXTINF:1.0,\nvideo-2.m4s\n`), 'changed after its end')
})

function assertBreach(breaches: string[], expected: string): void {
  assert.ok(
    breaches.some((breach) => breach.includes(expected)),
    `${expected}: ${JSON.stringify(breaches)}`,
  )
}
