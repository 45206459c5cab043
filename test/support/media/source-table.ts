import {
  aac,
  alac,
  frames,
  hevc,
  lavfi,
  numberedFrames,
  splitArgs,
  stripes,
  tone,
  toneInCenter,
  videoWithTone,
  vp8,
  x264,
} from './sources.ts'

export type Source = {
  /** The file name and the ffmpeg runs that make the file. */
  file: string
  steps: string[][]
  isRotated?: boolean
  /** The fraction of the bytes that the upload contains. The rest is cut off, and the video plays up to there. */
  fraction?: number
  rate: string
  /** The number that each frame of the output shows. */
  frameNumbers: number[]
  /** The accepted difference of each number. */
  tolerance?: number
  size?: string
  qualities?: string[]
  hertz?: number | undefined
  /** The expected luma levels of one row of the frame, within 6. */
  levels?: number[]
}

/** 3 s at 25 fps, with a chunk boundary at 2 s. `long` also has one at 6 s. */
const usual = { rate: '25/1', frameNumbers: frames(75), hertz: 440 }
const long = { ...usual, frameNumbers: frames(175) }
export const silent = { ...usual, hertz: undefined }
const striped = { ...silent, rate: '5/1', frameNumbers: [] }
const codecs: Record<string, Source> = {
  'H.264 and AAC in MP4': {
    file: 'a.mp4',
    steps: [[...videoWithTone({ seconds: 7 }), ...x264, ...aac]],
    ...long,
  },
  'HEVC with open GOPs in MOV': {
    file: 'a.mov',
    ...long,
    steps: [
      [
        ...videoWithTone({ seconds: 7 }),
        ...hevc('bframes=4:keyint=30:min-keyint=30'),
        ...splitArgs('-tag:v hvc1'),
        ...alac,
      ],
    ],
  },
  'HEVC with eight B-frames in MKV': {
    file: 'a.mkv',
    ...long,
    steps: [[...videoWithTone({ seconds: 7 }), ...hevc('bframes=8:keyint=48'), ...splitArgs('-c:a flac')]],
  },
  'H.264 with open GOPs and 16 B-frames': {
    file: 'b.mp4',
    ...long,
    steps: [
      [
        ...videoWithTone({ seconds: 7 }),
        ...splitArgs('-c:v libx264 -preset veryfast -x264-params'),
        'open-gop=1:bframes=16:b-adapt=0:b-pyramid=normal:keyint=40:scenecut=0',
      ],
    ],
  },
  'VP8 and Vorbis in WebM': {
    file: 'a.webm',
    ...usual,
    steps: [[...videoWithTone(), ...vp8, ...splitArgs('-g 40 -auto-alt-ref 1 -c:a libvorbis')]],
  },
  'VP9 and Opus in WebM': {
    file: 'b.webm',
    ...usual,
    steps: [[...videoWithTone(), ...splitArgs('-c:v libvpx-vp9 -cpu-used 5 -b:v 1M -g 60 -c:a libopus')]],
  },
  'AV1 in MP4': {
    file: 'c.mp4',
    ...usual,
    steps: [[...videoWithTone(), ...splitArgs('-c:v libsvtav1 -preset 12 -g 60'), ...alac]],
  },
  'MPEG-4 with B-frames and MP3 in AVI': {
    file: 'a.avi',
    ...usual,
    frameNumbers: [0, ...frames(75)],
    steps: [[...videoWithTone(), ...splitArgs('-c:v mpeg4 -bf 2 -q:v 3 -g 40 -c:a libmp3lame')]],
  },
  '10-bit ProRes and PCM in MOV': {
    file: 'b.mov',
    ...usual,
    steps: [[...videoWithTone(), ...splitArgs('-c:v prores_ks -profile:v 0 -c:a pcm_s16le')]],
  },
  'MJPEG in AVI': {
    file: 'b.avi',
    ...usual,
    steps: [[...videoWithTone(), ...splitArgs('-c:v mjpeg -q:v 4 -pix_fmt yuvj420p -c:a pcm_s16le')]],
  },
  'Theora and Vorbis in Ogg': {
    file: 'a.ogv',
    ...usual,
    steps: [[...videoWithTone(), ...splitArgs('-c:v libtheora -q:v 8 -g 64 -c:a libvorbis')]],
  },
  'MPEG-2 in an MPEG transport stream': {
    file: 'a.ts',
    ...long,
    steps: [[...videoWithTone({ seconds: 7 }), ...splitArgs('-c:v mpeg2video -bf 2 -q:v 3 -g 15 -c:a mp2')]],
  },
  'MPEG-2 in an MPEG program stream': {
    // Several smaller frames would share a packet, and only the first frame of a packet has a timestamp.
    file: 'a.mpg',
    ...usual,
    size: '320x240',
    steps: [
      [
        ...videoWithTone({ size: '320x240' }),
        ...splitArgs('-c:v mpeg2video -bf 2 -q:v 3 -g 15 -c:a mp2 -f vob'),
      ],
    ],
  },
  'H.264 in FLV': { file: 'a.flv', steps: [[...videoWithTone(), ...x264, ...aac]], ...usual },
  'RGB H.264': {
    file: 'b.mkv',
    ...usual,
    steps: [[...videoWithTone(), ...splitArgs('-c:v libx264rgb -preset ultrafast -crf 10 -c:a flac')]],
  },
  'grayscale FFV1': {
    file: 'c.mkv',
    ...usual,
    steps: [[...videoWithTone(), ...splitArgs('-c:v ffv1 -pix_fmt gray -c:a flac')]],
  },
}

const at = (rate: string, seconds = 3, audio = alac) => [
  ...videoWithTone({ rate, seconds }),
  ...x264,
  ...audio,
]
const rates: Record<string, Source> = {
  '24000/1001 fps': {
    ...usual,
    file: 'ra.mp4',
    steps: [at('24000/1001', 7)],
    rate: '24000/1001',
    frameNumbers: frames(168),
  },
  '30000/1001 fps': {
    ...usual,
    file: 'rb.mov',
    steps: [at('30000/1001')],
    rate: '30000/1001',
    frameNumbers: frames(90),
  },
  // The video stream starts 21 ms after the audio stream, which is more than one frame.
  '60000/1001 fps in MKV': {
    ...usual,
    file: 'rc.mkv',
    rate: '60000/1001',
    frameNumbers: [0, ...frames(420)],
    steps: [at('60000/1001', 7, aac)],
  },
  '50 fps': { ...usual, file: 'rd.mp4', steps: [at('50')], rate: '50/1', frameNumbers: frames(150) },
  '60 fps': { ...usual, file: 're.mp4', steps: [at('60')], rate: '60/1', frameNumbers: frames(180) },
  '120 fps as 60 fps': {
    ...usual,
    file: 'rf.mp4',
    rate: '60/1',
    frameNumbers: frames(180, (i) => 2 * i),
    tolerance: 1,
    steps: [at('120')],
  },
  '240 fps as 60 fps': {
    ...usual,
    file: 'rg.mov',
    rate: '60/1',
    frameNumbers: frames(180, (i) => 4 * i),
    tolerance: 2,
    steps: [at('240')],
  },
  '12.5 fps': { ...usual, file: 'rh.mp4', steps: [at('25/2', 7)], rate: '25/2', frameNumbers: frames(88) },
  '24000/1001 fps in MKV with rounded timestamps half a frame off the audio': {
    ...usual,
    file: 'ri.mkv',
    rate: '24000/1001',
    frameNumbers: frames(168),
    steps: [[...at('24000/1001', 7, aac), 'mp4'], splitArgs('-i {last} -c copy')],
  },
  'a 30 fps screen recording with frames only where something moves': {
    ...usual,
    file: 'rj.mp4',
    rate: '30/1',
    frameNumbers: frames(210, (i) => (i >= 20 && i <= 120 ? 19 : i)),
    steps: [
      [
        ...lavfi(numberedFrames({ rate: '30', seconds: 7, filter: `select='lt(n,20)+gt(n,120)'` })),
        ...[...tone(440, 7), ...splitArgs('-fps_mode vfr'), ...x264, ...alac],
      ],
    ],
  },
}

const frameFormats: Record<string, Source> = {
  'an odd width and height': {
    file: 'sa.mp4',
    ...usual,
    steps: [
      [
        ...lavfi(numberedFrames({ size: '162x122', filter: 'format=yuv444p,crop=161:121:0:0' })),
        ...[...tone(), ...splitArgs('-c:v libx264 -preset ultrafast'), ...alac],
      ],
    ],
  },
  'a portrait video': {
    file: 'sb.mp4',
    ...usual,
    size: '360x640',
    qualities: ['240p', '360p'],
    steps: [[...videoWithTone({ size: '360x640' }), ...x264, ...alac]],
  },
  'a portrait video rotated by its display matrix': {
    file: 'sc.mp4',
    ...usual,
    size: '360x640',
    qualities: ['240p', '360p'],
    isRotated: true,
    steps: [[...videoWithTone({ size: '360x640', filter: 'transpose=cclock' }), ...x264, ...alac]],
  },
  'non-square pixels': {
    file: 'sd.mp4',
    ...usual,
    steps: [[...videoWithTone({ size: '120x120', filter: 'setsar=4/3' }), ...x264, ...alac]],
  },
  'interlaced video': {
    file: 'se.mp4',
    ...usual,
    frameNumbers: frames(75, (i) => 2 * i),
    tolerance: 1,
    steps: [
      [
        ...lavfi(numberedFrames({ rate: '50', filter: 'tinterlace=interleave_top,fieldorder=tff' })),
        ...[
          ...tone(),
          ...splitArgs('-c:v libx264 -preset ultrafast -flags +ilme+ildct -x264-params tff=1'),
          ...alac,
        ],
      ],
    ],
  },
  '10-bit video': {
    file: 'sf.mp4',
    ...usual,
    steps: [[...videoWithTone(), ...x264, ...splitArgs('-pix_fmt yuv420p10le'), ...alac]],
  },
  '4:2:2 chroma': {
    file: 'sg.mp4',
    ...usual,
    steps: [[...videoWithTone(), ...x264, ...splitArgs('-pix_fmt yuv422p'), ...alac]],
  },
  // Levels from 0 to 255 are converted to the limited range of video.
  'full-range video': {
    file: 'sh.mp4',
    ...striped,
    levels: [16, 126, 181, 235],
    steps: [
      [
        ...stripes([0, 512, 768, 1023]),
        ...splitArgs('-vf scale=in_range=pc:out_range=pc,format=yuvj420p'),
        ...x264.slice(0, -2),
      ],
    ],
  },
  // Black, 90 nits, 273 nits (brighter than white), and the maximum of PQ.
  HDR10: {
    file: 'si.mp4',
    ...striped,
    levels: [16, 172, 226, 235],
    steps: [
      [...stripes([64, 500, 600, 940]), ...hevc('colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc')],
    ],
  },
  'HDR10 tagged only with its transfer function': {
    file: 'sj.mp4',
    ...striped,
    levels: [16, 172, 226, 235],
    steps: [[...stripes([64, 500, 600, 940]), ...hevc('transfer=smpte2084')]],
  },
  // Black, 90 nits, 157 nits and white. Nothing is brighter than white, so there is no headroom to reserve.
  'HDR10 with nothing brighter than white': {
    file: 'sl.mp4',
    ...striped,
    levels: [16, 172, 214, 235],
    steps: [
      [
        ...stripes([64, 500, 550, 573]),
        ...hevc('colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:hdr10=1:max-cll=203,100'),
      ],
    ],
  },
  // Black, skin tone, white, and the maximum.
  HLG: {
    file: 'sk.mp4',
    ...striped,
    levels: [16, 138, 221, 235],
    steps: [
      [
        ...stripes([64, 500, 721, 940]),
        ...hevc('colorprim=bt2020:transfer=arib-std-b67:colormatrix=bt2020nc'),
      ],
    ],
  },
}

const audioLayouts: Record<string, Source> = {
  'no audio': { file: 'ta.mp4', steps: [[...lavfi(numberedFrames()), ...x264]], ...silent },
  'the default audio track of three': {
    file: 'tb.mkv',
    ...usual,
    hertz: 1000,
    steps: [
      [
        ...[...lavfi(numberedFrames()), ...tone(440), ...tone(1000), ...tone(2000)],
        ...splitArgs('-map 0 -map 1 -map 2 -map 3 -c:a flac'),
        ...[...x264, ...splitArgs('-disposition:a:0 0 -disposition:a:1 default -disposition:a:2 0')],
      ],
    ],
  },
  '5.1 audio with only a center channel': {
    file: 'tc.mp4',
    ...usual,
    steps: [[...lavfi(numberedFrames()), ...toneInCenter, ...x264, ...aac]],
  },
  'mono audio at 22.05 kHz': {
    file: 'td.mp4',
    ...usual,
    steps: [[...lavfi(numberedFrames()), ...tone(440, 3, 22_050), ...x264, ...splitArgs('-c:a aac -ac 1')]],
  },
  'audio that starts before the video stream': {
    file: 'te.mp4',
    ...usual,
    frameNumbers: frames(75, (i) => Math.max(0, i - 25)),
    steps: [
      [...splitArgs('-itsoffset 1'), ...lavfi(numberedFrames({ seconds: 2 })), ...tone(), ...x264, ...aac],
    ],
  },
  'audio that continues after the video stream': {
    file: 'tf.mp4',
    ...long,
    frameNumbers: frames(175, (i) => Math.min(24, i)),
    steps: [[...lavfi(numberedFrames({ seconds: 1 })), ...tone(440, 7), ...x264, ...aac]],
  },
  'audio that starts after the video stream in an MPEG transport stream': {
    file: 'tg.ts',
    ...usual,
    steps: [[...lavfi(numberedFrames()), ...splitArgs('-itsoffset 1'), ...tone(440, 2), ...x264, ...aac]],
  },
  'audio only in MP3': {
    file: 'th.mp3',
    steps: [tone(440, 7)],
    rate: '10/1',
    frameNumbers: frames(70, () => 0),
    size: '426x240',
    hertz: 440,
  },
  'audio only in M4A': {
    file: 'ti.m4a',
    steps: [tone()],
    rate: '10/1',
    frameNumbers: frames(30, () => 0),
    size: '426x240',
    hertz: 440,
  },
}

const containers: Record<string, Source> = {
  'an edit list': {
    file: 'ua.mov',
    ...usual,
    frameNumbers: frames(174, (i) => i + 26),
    steps: [
      [...videoWithTone({ seconds: 8 }), ...x264, ...aac, 'mov'],
      splitArgs('-ss 1.02 -i {last} -c copy'),
    ],
  },
  // Without an edit list, the video stream starts late by its B-frame delay.
  'a fragmented MP4': {
    file: 'ub.mp4',
    ...usual,
    frameNumbers: [0, 0, ...frames(75)],
    steps: [
      [
        ...videoWithTone(),
        ...x264,
        ...aac,
        ...splitArgs('-movflags frag_keyframe+empty_moov+default_base_moof'),
      ],
    ],
  },
  'a browser recording without duration and index': {
    file: 'uc.webm',
    ...usual,
    steps: [[...videoWithTone(), ...vp8, ...splitArgs('-g 100 -c:a libopus -live 1')]],
  },
  'a single frame': {
    file: 'va.mp4',
    ...silent,
    steps: [[...lavfi(numberedFrames()), ...x264, ...splitArgs('-frames:v 1')]],
    frameNumbers: [0],
  },
  'a video of one second': {
    file: 'vb.mp4',
    ...usual,
    steps: [[...videoWithTone({ seconds: 1 }), ...x264, ...alac]],
    frameNumbers: frames(25),
  },
  'a truncated MP4': {
    file: 'wa.mp4',
    ...long,
    fraction: 0.6,
    steps: [[...videoWithTone({ seconds: 7 }), ...x264, ...aac, ...splitArgs('-g 25 -movflags +faststart')]],
  },
  'a truncated MPEG transport stream': {
    file: 'wb.ts',
    ...long,
    fraction: 0.6,
    steps: [[...videoWithTone({ seconds: 7 }), ...x264, ...aac, ...splitArgs('-g 25')]],
  },
  'a truncated MKV': {
    file: 'wc.mkv',
    ...long,
    fraction: 0.6,
    steps: [[...videoWithTone({ seconds: 7 }), ...x264, ...splitArgs('-g 25 -c:a flac')]],
  },
}

export const groups: Record<string, Record<string, Source>> = {
  codecs,
  'frame rates': rates,
  'frame formats': frameFormats,
  'audio layouts': audioLayouts,
  'containers and truncated files': containers,
}
