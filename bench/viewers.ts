import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

/** The paths that each viewer requests in a loop. Each viewer starts at a different path. */
export type Viewing = string[]
type Load = { requests: number; seconds: number }

/** Runs viewers in a child process, each with one keep-alive connection. */
export async function runViewers(options: LoadOptions): Promise<Load> {
  const child = spawn(process.execPath, [import.meta.filename], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  child.stdin.end(JSON.stringify(options))
  const output = await text(child.stdout)
  const [code] = await ended
  if (code !== 0) throw new Error('the viewers ended early')
  return JSON.parse(output)
}

/**
 * All viewers count and discard bytes in one shared buffer: an ordinary HTTP client would use more CPU time than the
 * server that is measured.
 */
async function view({ url, viewing, viewers, seconds }: LoadOptions): Promise<Load> {
  const { hostname: host, port } = new URL(url)
  const buffer = Buffer.allocUnsafe(1024 * 1024)
  let requests = 0
  const sockets = Array.from({ length: viewers }, (_, viewer) => {
    let next = viewer
    let remainingBytes = 0
    let isInHeader = true
    let header = ''
    const sendRequest = () => {
      socket.write(`GET ${viewing[next++ % viewing.length]} HTTP/1.1\r\nHost: bench\r\n\r\n`)
    }
    const onData = (length: number) => {
      for (let position = 0; position < length; ) {
        if (isInHeader) {
          const end = buffer.indexOf('\r\n\r\n', position)
          const headerEnd = end < 0 || end >= length ? length : end + 4
          header += buffer.toString('latin1', position, headerEnd)
          position = headerEnd
          if (!header.endsWith('\r\n\r\n')) continue
          if (!header.startsWith('HTTP/1.1 200')) throw new Error(header)
          remainingBytes = Number(/^content-length: (\d+)/im.exec(header)?.[1])
          isInHeader = false
          header = ''
        }
        const bodyBytes = Math.min(remainingBytes, length - position)
        remainingBytes -= bodyBytes
        position += bodyBytes
        if (remainingBytes > 0) continue
        isInHeader = true
        requests++
        sendRequest()
      }
      return true
    }
    const socket = connect({ host, port: Number(port), onread: { buffer, callback: onData } })
    return socket.on('connect', sendRequest)
  })
  const start = performance.now()
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
  const load = { requests, seconds: (performance.now() - start) / 1_000 }
  for (const socket of sockets) socket.destroy()
  return load
}

type LoadOptions = { url: string; viewing: Viewing; viewers: number; seconds: number }

if (import.meta.main) console.log(JSON.stringify(await view(JSON.parse(await text(process.stdin)))))
