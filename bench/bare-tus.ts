import { open } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { FileStore } from '@tus/file-store'
import { Server } from '@tus/server'

// A reference for uploads: the official tus server with its own file store. By default it responds before the file is
// on disk; with BARE_SYNC it calls fsync first, as the other servers do.

const directory = process.env.BARE_FOLDER ?? '.'
const tus = new Server({
  path: '/tus',
  datastore: new FileStore({ directory }),
  async onUploadFinish(_request, upload) {
    if (process.env.BARE_SYNC) {
      await using file = await open(join(directory, upload.id))
      await file.sync()
    }
    return {}
  },
})
const server = createServer((request, response) => tus.handle(request, response))
server.listen(0, '127.0.0.1', () => {
  console.log(`bare ready http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
