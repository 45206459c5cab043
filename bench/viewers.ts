import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

/** The paths that a viewer asks for, one after the other, again and again; each begins at another one. */
export type Viewing = string[]
type Load = { requests: number; seconds: number }

/** Viewers in a process of their own, each on a connection that it keeps. */
export async function load(url: string, viewing: Viewing, viewers: number, seconds: number): Promise<Load> {
  const child = spawn(process.execPath, [import.meta.filename], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  child.stdin.end(JSON.stringify({ url, viewing, viewers, seconds }))
  const answer = await text(child.stdout)
  const [code] = await ended
  if (code !== 0) throw new Error('the viewers ended early')
  return JSON.parse(answer)
}

/**
 * Bytes are counted and thrown away in one buffer for all: a client that made an object of each answer would take more
 * of the machine than what is measured.
 */
async function view({ url, viewing, viewers, seconds }: LoadOptions): Promise<Load> {
  const { hostname: host, port } = new URL(url)
  const buffer = Buffer.allocUnsafe(1024 * 1024)
  let requests = 0
  const sockets = Array.from({ length: viewers }, (_, viewer) => {
    let next = viewer
    let left = 0
    let isInHeader = true
    let header = ''
    const ask = () => {
      socket.write(`GET ${viewing[next++ % viewing.length]} HTTP/1.1\r\nHost: bench\r\n\r\n`)
    }
    const take = (length: number) => {
      for (let at = 0; at < length; ) {
        if (isInHeader) {
          const end = buffer.indexOf('\r\n\r\n', at)
          const here = end < 0 || end >= length ? length : end + 4
          header += buffer.toString('latin1', at, here)
          at = here
          if (!header.endsWith('\r\n\r\n')) continue
          if (!header.startsWith('HTTP/1.1 200')) throw new Error(header)
          left = Number(/^content-length: (\d+)/im.exec(header)?.[1])
          isInHeader = false
          header = ''
        }
        const taken = Math.min(left, length - at)
        left -= taken
        at += taken
        if (left > 0) continue
        isInHeader = true
        requests++
        ask()
      }
      return true
    }
    const socket = connect({ host, port: Number(port), onread: { buffer, callback: take } })
    return socket.on('connect', ask)
  })
  const start = performance.now()
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
  const load = { requests, seconds: (performance.now() - start) / 1_000 }
  for (const socket of sockets) socket.destroy()
  return load
}

type LoadOptions = { url: string; viewing: Viewing; viewers: number; seconds: number }

if (import.meta.main) console.log(JSON.stringify(await view(JSON.parse(await text(process.stdin)))))
