import { startS3Store } from '../test/support/s3-store.ts'

// The S3 emulator of the tests as a program of its own: `store-server.ts FOLDER PORT`.

const [folder = '', port = '9000'] = process.argv.slice(2)
await startS3Store({ after() {} }, { folder, host: '0.0.0.0', port: Number(port) })
console.log('store ready')
