import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/dashboard/',
  publicDir: false,
  logLevel: 'warn',
  build: {
    outDir: 'dist',
    assetsDir: 'assets',
    // The test of the size reads it.
    manifest: 'manifest.json',
    target: ['chrome123', 'firefox120', 'safari17.5'],
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1024,
    // Browsers that are supported load modules in parallel themselves.
    modulePreload: { polyfill: false },
    // Libraries mark modules for servers that render React. There is no such server here.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
  },
})
