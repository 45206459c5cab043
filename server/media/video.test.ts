import assert from 'node:assert/strict'
import { test } from 'node:test'
import { segmentOf } from './grid.ts'
import { ladderOf } from './ladder.ts'
import { mp4Args } from './remux.ts'
import { encodeVideoArgs, type VideoChunk } from './video.ts'

const rate = { num: 30000, den: 1001 }
const [low, high] = ladderOf({ width: 640, height: 360 }, rate)

const chunk: VideoChunk = {
  input: {
    path: 'in',
    options: ['-threads', '1'],
    stream: { index: 2, width: 640, height: 360, isInterlaced: false, dynamicRange: 'sdr' },
    offsetSeconds: 0,
  },
  grid: { rate, frames: 900 },
  segments: [
    { index: 1, fromFrame: 60, frames: 120 },
    { index: 2, fromFrame: 180, frames: 120 },
  ],
  outputs: [
    { rung: low!, path: 'low.mp4' },
    { rung: high!, path: 'high.mp4' },
  ],
  overlays: [],
  canToneMap: true,
}

const output = (map: string, maxKbps: number, path: string) => [
  ...['-map', map, '-map_metadata', '-1', '-frames:v', '240', '-fps_mode', 'passthrough'],
  ...['-c:v', 'libx264', '-threads', '1', '-preset', 'veryfast', '-profile:v', 'high'],
  ...['-crf', '20.5', '-x264-params', 'b-adapt=0:me=dia:bframes=5:subme=1:aq-strength=0.7:qcomp=0.5'],
  ...['-maxrate', `${maxKbps}k`, '-bufsize', `${2 * maxKbps}k`, '-g', '100000', '-keyint_min', '50000'],
  ...['-force_key_frames', '0.000000,3.995658'],
  ...['-fflags', '+bitexact', '-flags:v', '+bitexact', '-video_track_timescale', '30000'],
  ...[
    '-output_ts_offset',
    '2.002000',
    '-movflags',
    'cmaf+frag_keyframe+frag_discont+skip_trailer',
    '-flush_packets',
    '1',
  ],
  ...['-f', 'mp4', path],
]

test('a chunk in the middle is decoded once and encoded into one file per quality', () => {
  assert.deepEqual(encodeVideoArgs(chunk), [
    ...['-hide_banner', '-nostdin', '-y', '-loglevel', 'error'],
    ...['-threads', '1', '-reinit_filter', '0', '-noaccurate_seek', '-ss', '1.735067', '-i', 'in'],
    ...['-filter_complex_threads', '1', '-filter_complex'],
    [
      '[0:2]setpts=round(PTS-0.266933/TB),fps=fps=30000/1001:round=near,tpad=stop=-1:stop_mode=clone,' +
        'fps=fps=30000/1001:start_time=0,' +
        'scale=640:360:out_range=tv,setsar=1,format=yuv420p[all]',
      '[all]split=2[c0][v1]',
      '[c0]scale=426:240[v0]',
    ].join(';'),
    ...output('[v0]', low!.maxKbps, 'low.mp4'),
    ...output('[v1]', high!.maxKbps, 'high.mp4'),
  ])
})

test('higher qualities have a longer lookahead, unless it takes too much memory', () => {
  const rungs = ladderOf({ width: 3840, height: 2160 }, rate)
  const args = encodeVideoArgs({ ...chunk, outputs: rungs.map((rung) => ({ rung, path: rung.quality })) })
  const after = (name: string) => args.flatMap((each, i) => (each === name ? [args[i + 1]] : []))
  assert.deepEqual(after('-crf'), ['20.5', '20.5', '22.7', '22', '22', '20.7'])
  assert.deepEqual(
    after('-x264-params').map((each) => each?.includes(':rc-lookahead=40:')),
    [false, false, true, true, true, false],
  )
})

const graphOf = (args: string[]) => args[args.indexOf('-filter_complex') + 1] ?? ''

test('the first chunk is read from the start of the source or of the clip', () => {
  const atStart = { ...chunk, segments: [segmentOf(chunk.grid, 0)] }
  const first = encodeVideoArgs(atStart)
  assert.ok(!first.includes('-ss'))
  assert.match(graphOf(first), /PTS-0\.000000/)
  const clip = encodeVideoArgs({ ...atStart, input: { ...fileInput(), offsetSeconds: 12.5 } })
  assert.equal(clip[clip.indexOf('-ss') + 1], '12.233067')
  // Closer to the start than the lead.
  const near = encodeVideoArgs({ ...atStart, input: { ...fileInput(), offsetSeconds: 0.25 } })
  assert.ok(!near.includes('-ss'))
  assert.match(graphOf(near), /PTS-0\.250000/)
})

const fileInput = () => chunk.input as Exclude<VideoChunk['input'], 'still'>

function graphFor(stream: Partial<ReturnType<typeof fileInput>['stream']>, more: Partial<VideoChunk> = {}) {
  const input = { ...fileInput(), stream: { ...fileInput().stream, ...stream } }
  return graphOf(encodeVideoArgs({ ...chunk, input, ...more }))
}

test('interlaced video is deinterlaced before it is put on the grid', () => {
  assert.match(graphFor({ isInterlaced: true }), /^\[0:2\]bwdif=[^,]*,setpts=[^,]*,fps=/)
})

test('HDR is mapped to SDR if this ffmpeg supports it', () => {
  assert.match(
    graphFor({ dynamicRange: 'pq' }),
    /setsar=1,setparams=.*smpte2084,zscale=t=linear.*tonemap=.*,format=yuv420p\[all\]/,
  )
  assert.match(graphFor({ dynamicRange: 'hlg' }), /tonemap/)
  assert.doesNotMatch(graphFor({ dynamicRange: 'hlg' }, { canToneMap: false }), /zscale|tonemap/)
  assert.doesNotMatch(graphFor({}), /zscale|tonemap/)
})

const overlay = {
  path: 'mark.png',
  area: { left: 0.5, top: 0.1, width: 0.3, height: 0.2 },
  opacity: 0.25,
}

test('an overlay is converted once and burnt into the largest size before the others are scaled from it', () => {
  const args = encodeVideoArgs({ ...chunk, overlays: [overlay] })
  const inputs = args.slice(args.indexOf('in') + 1, args.indexOf('-filter_complex_threads'))
  assert.deepEqual(inputs, ['-f', 'png_pipe', '-i', 'mark.png'])
  assert.ok(
    graphOf(args).endsWith(
      [
        '[all]',
        '[1:v]format=gbrap,premultiply=inplace=1,scale=192:72,unpremultiply=inplace=1,colorchannelmixer=aa=0.25,' +
          'scale=out_color_matrix=bt601:out_range=tv,format=yuva420p[image0]',
        '[all][image0]overlay=x=320:y=36:eval=init:format=yuv420[marked0]',
        '[marked0]split=2[c0][v1]',
        '[c0]scale=426:240[v0]',
      ].join(';'),
    ),
    graphOf(args),
  )
})

test('several overlays are burnt in one after the other', () => {
  const opaque = { ...overlay, path: 'other.png', opacity: 1 }
  const graph = graphOf(encodeVideoArgs({ ...chunk, overlays: [overlay, opaque] }))
  assert.match(graph, /\[all\]\[image0\]overlay=[^;]*\[marked0\];\[2:v\]/)
  assert.match(graph, /\[marked0\]\[image1\]overlay=[^;]*\[marked1\];\[marked1\]split=2/)
  assert.equal(graph.match(/colorchannelmixer/g)?.length, 1)
})

test('an overlay has the color matrix of the frames', () => {
  const overlays = [overlay]
  const matrixOf = (graph: string) => /out_color_matrix=(\w+)/.exec(graph)?.[1]
  assert.equal(matrixOf(graphFor({}, { overlays })), 'bt601')
  assert.equal(matrixOf(graphFor({ colorMatrix: 'bt709' }, { overlays })), 'bt709')
  assert.equal(matrixOf(graphFor({ dynamicRange: 'pq', colorMatrix: 'bt2020' }, { overlays })), 'bt709')
  const isFlat = { overlays, canToneMap: false }
  assert.equal(matrixOf(graphFor({ dynamicRange: 'pq', colorMatrix: 'bt2020' }, isFlat)), 'bt2020')
  assert.equal(matrixOf(graphFor({ width: 1280, height: 720 }, { overlays })), 'bt709')
})

test('a source without video gets a still image', () => {
  const args = encodeVideoArgs({ ...chunk, input: 'still', outputs: chunk.outputs.slice(0, 1) })
  assert.deepEqual(args.slice(5, 9), ['-f', 'lavfi', '-i', 'color=c=0x1f2430:s=426x240:r=30000/1001'])
  assert.ok(!args.includes('-ss'))
})

test('an MP4 is muxed without encoding, with the index in front', () => {
  const args = mp4Args({ video: 'p', audio: 's', output: 'o' })
  assert.deepEqual(args.slice(5), [
    ...['-i', 'p', '-i', 's', '-map', '0:v', '-map', '1:a', '-c', 'copy', '-fflags', '+bitexact'],
    ...['-movflags', '+faststart', '-f', 'mp4', 'o'],
  ])
  assert.ok(!mp4Args({ video: 'p', audio: undefined, output: 'o' }).includes('1:a'))
})
