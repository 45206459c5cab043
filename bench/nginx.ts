import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { withChildren } from './cpu.ts'

/** A typical configuration for static files. */
export const plainServer = (port: number, root: string) => `
  server {
    listen 127.0.0.1:${port};
    root ${root};
    location / {
      etag on;
      add_header Cache-Control "public, max-age=31536000, immutable";
      types { application/vnd.apple.mpegurl m3u8; video/mp4 m4s; }
    }
  }`

/** Distributes requests over several processes. */
export const proxyServer = (port: number, upstreams: string[]) => `
  upstream kinora {
    ${upstreams.map((url) => `server ${new URL(url).host};`).join('\n    ')}
    keepalive 256;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://kinora;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }`

/** The configuration from docs/delivery.md without TLS, as all servers are compared without it. */
export const accelServer = (port: number, upstream: string, location: string, files: string) => `
  upstream kinora {
    server ${new URL(upstream).host};
    keepalive 256;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://kinora;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_request_buffering off;
      client_max_body_size 0;
    }
    location ${location} {
      internal;
      alias ${files}/;
      add_header Access-Control-Allow-Origin * always;
      add_header Cross-Origin-Resource-Policy cross-origin always;
      add_header Timing-Allow-Origin * always;
    }
  }`

/** Receives RTMP and makes HLS (Debian's `libnginx-mod-rtmp`). */
export const rtmpServer = (module: string, port: number, hls: string) => ({
  module,
  text: `
rtmp {
  access_log off;
  server {
    listen 127.0.0.1:${port};
    application s {
      live on;
      hls on;
      hls_path ${hls};
      hls_fragment 2s;
      hls_playlist_length 60s;
    }
  }
}`,
})

/** The module for RTMP, or undefined if it is not installed. */
export function findRtmpModule(): string | undefined {
  const program = findNginx()
  const { stderr = '' } = program ? spawnSync(program, ['-V'], { encoding: 'utf8' }) : {}
  const path = join(/--modules-path=(\S+)/.exec(stderr)?.[1] ?? '', 'ngx_rtmp_module.so')
  return existsSync(path) ? path : undefined
}

export const findNginx = () => ['nginx', '/usr/sbin/nginx'].find((name) => !spawnSync(name, ['-v']).error)

type Rtmp = ReturnType<typeof rtmpServer>

export const configuration = (folder: string, server: string, rtmp?: Rtmp) => `
${rtmp ? `load_module ${rtmp.module};` : ''}
daemon off;
worker_processes 1;
pid ${folder}/pid;
error_log ${folder}/error.log;
${process.getuid?.() === 0 ? `user ${userInfo().username};` : ''}
events { worker_connections 10000; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000;
  open_file_cache max=1000 inactive=60s;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  ${server}
}
${rtmp?.text ?? ''}
`

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Starts nginx as this user in its own folder. Returns undefined if nginx is not installed. */
export async function startNginx(
  folder: string,
  serverOf: (port: number) => string | Promise<string>,
  rtmp?: Rtmp,
) {
  const program = findNginx()
  if (!program) return undefined
  await mkdir(folder, { recursive: true })
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  await writeFile(file, configuration(folder, await serverOf(port), rtmp))
  const child = spawn(program, ['-c', file, '-e', join(folder, 'error.log')], { stdio: 'inherit' })
  const exited = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  for (let i = 0; ; i++) {
    if (await fetch(url).then(Boolean, () => false)) break
    if (i === 100 || child.exitCode !== null) throw new Error(`nginx does not start; see ${folder}/error.log`)
    await delay(50)
  }
  return {
    url,
    workers: () => withChildren(child.pid!),
    async close() {
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** A request that nginx did not answer by a HIT at once. `cache` is its `$upstream_cache_status`. */
export type Load = { at: number; cache: string; status: number; path: string }

/** deploy/nginx-cache.conf without TLS, with its caches in `folder`. */
export async function cacheServer(folder: string, listen: string, upstreams: string[]): Promise<string> {
  const text = await readFile(new URL('../deploy/nginx-cache.conf', import.meta.url), 'utf8')
  const hosts = upstreams.map((url) => new URL(url).host.replace('localhost', '127.0.0.1'))
  return text
    .replaceAll('/var/cache/nginx', folder)
    .replace('server 127.0.0.1:8080;', hosts.map((host) => `server ${host};`).join('\n  '))
    .replace(/server \{\s+listen 80;.*?\n\}/s, '')
    .replace(/ssl_certificate.*\n/g, '')
    .replace('listen 443 ssl http2', `listen ${listen}`)
}

/** Starts nginx as a cache. Returns undefined if nginx is not installed. */
export async function startCache(folder: string, upstream: string) {
  await mkdir(folder, { recursive: true })
  const log = join(folder, 'loads.log')
  const nginx = await startNginx(join(folder, 'nginx'), async (port) => {
    const server = await cacheServer(folder, `127.0.0.1:${port}`, [upstream])
    return [
      "log_format loads '$msec $upstream_cache_status $status $kinora_path';",
      server.replaceAll('proxy_pass http://kinora$kinora_path;', `$& access_log ${log} loads;`),
    ].join('\n')
  })
  if (!nginx) return undefined
  return {
    ...nginx,
    /** What Kinora was asked for, apart from files that are never cached. */
    async loads(): Promise<Load[]> {
      const lines = (await readFile(log, 'utf8')).split('\n').map((line) => line.split(' '))
      return lines
        .map(([at, cache = '', status, path = '']) => ({
          at: Number(at) * 1000,
          cache,
          status: Number(status),
          path,
        }))
        .filter(({ cache }) => /MISS|EXPIRED|REVALIDATED/.test(cache))
    },
  }
}
