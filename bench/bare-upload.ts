import { createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

// The reference for uploads: writes the request body to a file and calls fsync.

let uploads = 0
const server = createServer(async (request, response) => {
  const path = join(process.env.BARE_FOLDER ?? '.', `upload-${uploads++}`)
  await pipeline(request, createWriteStream(path))
  const file = await open(path)
  await file.sync()
  await file.close()
  response.end('done')
})
server.listen(0, '127.0.0.1', () => {
  console.log(`bare ready http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
