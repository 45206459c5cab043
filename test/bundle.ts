import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'vite'

/** Files beside a module are found by its URL, so each module keeps the URL of its source. */
const keepModuleUrls: Plugin = {
  name: 'keep-module-urls',
  transform(code, id) {
    if (!id.endsWith('.ts') || !code.includes('import.meta.url')) return null
    return { code: code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)), map: null }
  },
}

/**
 * Bundles the service into one file. The tests start it a few hundred times, and loading its 1,150 modules one by one
 * takes more CPU time than everything else that a start does.
 */
export async function bundleServer(root: string): Promise<{ path: string; remove(): Promise<void> }> {
  const cache = join(root, 'node_modules/.cache')
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'test-server-'))
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    plugins: [keepModuleUrls],
    // Native code, worker threads, and what is loaded at first use only.
    ssr: { noExternal: true, external: ['koffi', 'pino', 'pino-pretty', 'vite', '@aws-sdk/client-s3'] },
    build: {
      ssr: join(root, 'server/main.ts'),
      outDir: folder,
      minify: false,
      target: 'node24',
      rolldownOptions: { output: { entryFileNames: 'main.mjs' } },
    },
  })
  return {
    path: join(folder, 'main.mjs'),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
