import { analytics } from './analytics.ts'
import { api } from './api.ts'
import { encode } from './encode.ts'
import { playback } from './playback.ts'
import { start } from './start.ts'
import { upload } from './upload.ts'
import { uploadToS3 } from './upload-s3.ts'
import { webhooks } from './webhooks.ts'

/** `npm run bench -- <name>`; what follows the name narrows it down. */
const benches: Record<string, (parts: string[]) => Promise<void>> = {
  api,
  analytics,
  upload: ([to]) => (to === 's3' ? uploadToS3() : upload()),
  encode,
  playback,
  start,
  webhooks,
}

const [name = '', ...parts] = process.argv.slice(2)
const bench = benches[name]
if (!bench) {
  console.error(`Which benchmark? npm run bench -- ${Object.keys(benches).join(' | ')}`)
  process.exit(2)
}
await bench(parts)
