import { startFauxqs } from 'fauxqs'

// The S3 emulator of the tests, in a separate process so that it does not share the event loop of the benchmark.

const server = await startFauxqs({
  port: 0,
  host: '127.0.0.1',
  logger: false,
  s3StorageDir: process.env.STORE_FOLDER ?? '',
})
server.createBucket('videos')
process.once('SIGTERM', () => server.stop().then(() => process.exit(0)))
console.log(`store ready http://127.0.0.1:${server.port}`)
