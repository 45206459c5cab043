// The tags of HLS playlists (RFC 8216).

export type Kind = 'master' | 'media'

/** Section 4.2: the types of attribute values. */
export const valueTypes = {
  integer: /^\d{1,20}$/,
  float: /^\d+(\.\d+)?$/,
  signed: /^-?\d+(\.\d+)?$/,
  hex: /^0[xX][0-9A-F]+$/,
  quoted: /^"[^"\r\n]*"$/,
  word: /^[^",\s]+$/,
  yesNo: /^(YES|NO)$/,
  resolution: /^\d+x\d+$/,
}
export type ValueType = keyof typeof valueTypes

export type Tag = {
  of: Kind | 'both'
  /** Belongs to the next segment and may therefore be repeated. */
  isOfSegment?: boolean
  isRepeated?: boolean
  value?: RegExp
  /** `!` marks required attributes. */
  attributes?: Record<string, ValueType | `!${ValueType}`>
}

const stream: Record<string, ValueType> = {
  'AVERAGE-BANDWIDTH': 'integer',
  CODECS: 'quoted',
  RESOLUTION: 'resolution',
  'HDCP-LEVEL': 'word',
  VIDEO: 'quoted',
}

/** Section 4.3: the tags that the playlists of a video can have. */
export const tags: Record<string, Tag> = {
  EXTM3U: { of: 'both', value: /^$/ },
  'EXT-X-VERSION': { of: 'both', value: /^[1-9]\d*$/ },
  'EXT-X-INDEPENDENT-SEGMENTS': { of: 'both', value: /^$/ },
  'EXT-X-START': { of: 'both', attributes: { 'TIME-OFFSET': '!signed', PRECISE: 'yesNo' } },
  'EXT-X-MEDIA': {
    of: 'master',
    isRepeated: true,
    attributes: {
      TYPE: '!word',
      URI: 'quoted',
      'GROUP-ID': '!quoted',
      LANGUAGE: 'quoted',
      'ASSOC-LANGUAGE': 'quoted',
      NAME: '!quoted',
      DEFAULT: 'yesNo',
      AUTOSELECT: 'yesNo',
      FORCED: 'yesNo',
      'INSTREAM-ID': 'quoted',
      CHARACTERISTICS: 'quoted',
      CHANNELS: 'quoted',
    },
  },
  'EXT-X-STREAM-INF': {
    of: 'master',
    isRepeated: true,
    attributes: {
      BANDWIDTH: '!integer',
      ...stream,
      'FRAME-RATE': 'float',
      AUDIO: 'quoted',
      SUBTITLES: 'quoted',
      'CLOSED-CAPTIONS': 'word',
    },
  },
  'EXT-X-I-FRAME-STREAM-INF': {
    of: 'master',
    isRepeated: true,
    attributes: { BANDWIDTH: '!integer', ...stream, URI: '!quoted' },
  },
  'EXT-X-TARGETDURATION': { of: 'media', value: /^\d+$/ },
  'EXT-X-MEDIA-SEQUENCE': { of: 'media', value: /^\d+$/ },
  'EXT-X-DISCONTINUITY-SEQUENCE': { of: 'media', value: /^\d+$/ },
  'EXT-X-PLAYLIST-TYPE': { of: 'media', value: /^(EVENT|VOD)$/ },
  'EXT-X-ENDLIST': { of: 'media', value: /^$/ },
  EXTINF: { of: 'media', isOfSegment: true, value: /^\d+(\.\d+)?,.*$/ },
  'EXT-X-BYTERANGE': { of: 'media', isOfSegment: true, value: /^\d+(@\d+)?$/ },
  'EXT-X-DISCONTINUITY': { of: 'media', isOfSegment: true, value: /^$/ },
  'EXT-X-PROGRAM-DATE-TIME': { of: 'media', isOfSegment: true, value: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/ },
  'EXT-X-MAP': { of: 'media', isOfSegment: true, attributes: { URI: '!quoted', BYTERANGE: 'quoted' } },
}
