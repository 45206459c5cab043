import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const input = (name: string) => fileURLToPath(new URL(name, import.meta.url))

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/docs/assets/',
  publicDir: false,
  logLevel: 'warn',
  build: {
    outDir: 'dist',
    assetsDir: '',
    // The server renders the pages, and finds the file names in this manifest.
    manifest: 'manifest.json',
    rolldownOptions: { input: [input('site.ts'), input('reference.ts')] },
    target: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
})
