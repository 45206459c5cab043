import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/player/studio/',
  publicDir: false,
  logLevel: 'warn',
  build: {
    assetsDir: '',
    // The server renders the page, and finds the file names in this manifest.
    manifest: 'manifest.json',
    rolldownOptions: { input: fileURLToPath(new URL('main.ts', import.meta.url)) },
    target: ['chrome111', 'firefox114', 'safari16.4'],
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
})
