import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'

/**
 * Parts of hls.js that our streams do not use: DRM, interstitials, I-frame playlists, subtitles in the stream (ours are
 * separate files), CMCD and content steering. They are a third of its size.
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

/** Not the light build of hls.js, because it also lacks the alternate audio that our streams use. */
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

/** media-chrome's list of shortcuts, which shortcuts-dialog.ts replaces. Its module also has a function that is used. */
const withoutShortcuts: Plugin = {
  name: 'without-shortcuts',
  transform: {
    filter: { id: /media-keyboard-shortcuts-dialog\.js$/ },
    handler(code) {
      const used = /^function getHotkeyToken\(key\) \{.*?^\}/ms.exec(code)?.[0]
      if (!used) this.error('media-chrome has no getHotkeyToken')
      return { code: `export ${used}`, map: null }
    },
  },
}

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/player/',
  publicDir: false,
  plugins: [lightHls, withoutShortcuts],
  logLevel: 'warn',
  build: {
    outDir: 'dist',
    assetsDir: '',
    // The server renders the page, and finds the file names in this manifest.
    manifest: 'manifest.json',
    rolldownOptions: { input: fileURLToPath(new URL('main.ts', import.meta.url)) },
    target: ['chrome111', 'firefox114', 'safari16.4'],
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1024,
  },
})
