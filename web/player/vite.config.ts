import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'

/**
 * Parts of hls.js that our streams have no use for: keys of rights management, advertisements between, pictures to wind
 * through, captions within the stream (ours are beside it), reports to networks. They are a third of it.
 */
const unused = [
  'subtitleStreamController',
  'subtitleTrackController',
  'timelineController',
  'emeController',
  'cmcdController',
  'contentSteeringController',
  'iframeController',
  'interstitialsController',
]

/** Its light build leaves these out as well, and with them the separate sound that our streams have. */
const lightHls: Plugin = {
  name: 'light-hls',
  transform: {
    filter: { id: /hls\.js\/dist\/hls\.mjs$/ },
    handler(code) {
      for (const name of unused) {
        const setting = new RegExp(`^  ${name}: \\w+Controller ?(,?)$`, 'm')
        if (!setting.test(code)) this.error(`hls.js has no ${name}`)
        code = code.replace(setting, `  ${name}: undefined$1`)
      }
      return { code, map: null }
    },
  },
}

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/player/',
  publicDir: false,
  plugins: [lightHls],
  logLevel: 'warn',
  build: {
    outDir: 'dist',
    assetsDir: '',
    // The page is made by the server, which finds the names in this list.
    manifest: 'manifest.json',
    rolldownOptions: { input: fileURLToPath(new URL('main.ts', import.meta.url)) },
    target: ['chrome111', 'firefox114', 'safari16.4'],
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1024,
  },
})
