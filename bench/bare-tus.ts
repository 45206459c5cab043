import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { FileStore } from '@tus/file-store'
import { Server } from '@tus/server'

// What the benchmark measures against: the reference server of the tus protocol with its own file store.

const tus = new Server({
  path: '/tus',
  datastore: new FileStore({ directory: process.env.BARE_FOLDER ?? '.' }),
})
const server = createServer((request, response) => tus.handle(request, response))
server.listen(0, '127.0.0.1', () => {
  console.log(`bare ready http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
