import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'

/** The browser loads the font of Latin text together with the styles, so that no text moves. */
const preloadFont: Plugin = {
  name: 'preload-font',
  transformIndexHtml(_html, { bundle = {} }) {
    const file = Object.keys(bundle).find((name) => /geist-latin-wght-normal-[^/]+\.woff2$/.test(name))
    if (!file) throw new Error('The font is missing.')
    const attrs = {
      rel: 'preload',
      as: 'font',
      type: 'font/woff2',
      crossorigin: '',
      href: `/dashboard/${file}`,
    }
    return [{ tag: 'link', attrs, injectTo: 'head' }]
  },
}

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/dashboard/',
  publicDir: false,
  plugins: [preloadFont],
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
