// `npm run bench` lists the benchmarks; `npm run bench -- NAME` runs one. Results and goals: docs/benchmarks.md.

type Benchmark = { usage: string; about: string; run(args: string[]): Promise<void> }

const benchmarks: Record<string, Benchmark> = {
  api: {
    usage: 'api',
    about: 'API requests compared with a bare Fastify server',
    run: async () => (await import('./api.ts')).api(),
  },
  analytics: {
    usage: 'analytics [SESSIONS]',
    about: 'analytics reads compared with counting the sessions in SQL (100,000 sessions)',
    run: async (args) => (await import('./analytics.ts')).analytics(args),
  },
  lists: {
    usage: 'lists [VIDEOS]',
    about: 'lists compared with counting the videos in SQL (1,000,000 videos); player pages meanwhile',
    run: async (args) => (await import('./lists.ts')).lists(args),
  },
  dashboard: {
    usage: 'dashboard',
    about: 'long tasks of the dashboard while it scrolls through 100,000 videos',
    run: async () => (await import('./dashboard.ts')).dashboard(),
  },
  upload: {
    usage: 'upload',
    about: '1 GiB to disk compared with a bare Node server and @tus/server; memory of a 5 GiB upload',
    run: async () => (await import('./upload.ts')).upload(),
  },
  'upload s3': {
    usage: 'upload s3',
    about: '256 MiB to S3 compared with the AWS SDK',
    run: async () => (await import('./upload-s3.ts')).uploadToS3(),
  },
  encode: {
    usage: 'encode [encoded] [copied] [--source FILE]…',
    about:
      'encoding compared with one ffmpeg per quality, and with x264 alone; copying compared with encoding',
    run: async (args) => (await import('./encode.ts')).encode(args),
  },
  'encode stalls': {
    usage:
      'encode stalls [start] [720p] [1080p] [short] [long] [encoded] [copied] [uncopied] [--source FILE]…',
    about: 'start of playback after an upload, stalls of a viewer who starts then, growth of the playlists',
    run: async (args) => (await import('./encode-stalls.ts')).encodeStalls(args.slice(1)),
  },
  'encode early': {
    usage: 'encode early [encoded] [copied] [--seconds SECONDS]',
    about:
      'encoding during an upload of a minute compared with encoding after it; uploads that are abandoned (600 s)',
    run: async (args) => (await import('./encode-early.ts')).encodeEarly(args.slice(1)),
  },
  'encode watermark': {
    usage: 'encode watermark [--source FILE]…',
    about: 'CPU time of encoding with a watermark compared with encoding without',
    run: async (args) => (await import('./encode-watermark.ts')).encodeWatermark(args.slice(1)),
  },
  import: {
    usage: 'import [VIDEOS]',
    about:
      'import from another Kinora compared with uploading the same files, four at once (1,000 videos); memory',
    run: async (args) => (await import('./import.ts')).importVideos(args),
  },
  live: {
    usage: 'live [latency] [pass-through] [srt] [whip] [loss] [capacity] [viewers] [recording] [memory]',
    about: 'latency of live streams, CPU time compared with nginx, 500 viewers, recordings',
    run: async (args) => (await import('./live/live.ts')).live(args),
  },
  playback: {
    usage: 'playback [viewing] [segments] [playlists] [first-frame] [sessions]',
    about: 'delivery compared with nginx; time to first frame; viewing reports',
    run: async (args) => (await import('./playback.ts')).playback(args),
  },
  scale: {
    usage:
      'scale [FACTOR] [NAME=NUMBER]… [lists] [videos] [playback] [work] [analytics] [upkeep] [--keep FOLDER]',
    about: 'every operation with 50,000,000 sessions and 1,000,000 videos compared with an empty database',
    run: async (args) => (await import('./scale.ts')).scale(args),
  },
  edge: {
    usage: 'edge [VIEWERS]',
    about: 'requests to the service and delay of a broadcast behind a caching nginx (2,000 viewers)',
    run: async (args) => (await import('./edge.ts')).edge(args),
  },
  rolling: {
    usage: 'rolling [ROUNDS]',
    about: 'restarts of every process behind nginx under load: failed requests, interrupted broadcasts (3)',
    run: async (args) => (await import('./rolling.ts')).rolling(args),
  },
  'scale-out': {
    usage: 'scale-out [workers] [api]',
    about: 'two workers and two api processes compared with one',
    run: async (args) => (await import('./scale-out.ts')).scaleOut(args),
  },
  start: {
    usage: 'start',
    about: 'start of the service compared with a bare Fastify server',
    run: async () => (await import('./start.ts')).start(),
  },
  writes: {
    usage: 'writes',
    about: 'transactions, rows and WAL of the database for each upload, encoded minute, event and viewer',
    run: async () => (await import('./writes.ts')).writes(),
  },
  webhooks: {
    usage: 'webhooks [latency] [throughput]',
    about: 'delivery latency; deliveries per second compared with a bare loop',
    run: async (args) => (await import('./webhooks.ts')).webhooks(args),
  },
}

function list(): string {
  const lines = Object.values(benchmarks).map(
    ({ usage, about }) => `  npm run bench -- ${usage}\n      ${about}`,
  )
  return `Benchmarks. Words in brackets are optional and select a part.\n\n${lines.join('\n')}\n\nResults and goals: docs/benchmarks.md`
}

const [name = '', ...args] = process.argv.slice(2)
const isVariant = Object.hasOwn(benchmarks, `${name} ${args[0]}`)
const found = isVariant ? `${name} ${args[0]}` : name
const benchmark = Object.hasOwn(benchmarks, found) ? benchmarks[found] : undefined
if (benchmark) {
  await benchmark.run(args)
} else if (name === '') {
  console.log(list())
} else {
  console.error(`There is no benchmark "${name}".\n\n${list()}`)
  process.exitCode = 2
}
