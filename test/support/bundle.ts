import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
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

/** Importing `node:http` as a module reads its getters, which load Node's fetch: a tenth of the CPU time of a start. */
const httpWithoutFetch: Plugin = {
  name: 'http-without-fetch',
  enforce: 'pre',
  resolveId: (id) => (/^(node:)?http$/.test(id) ? '\0http' : null),
  load(id) {
    if (id !== '\0http') return null
    const isPlain = (name: string) => Object.getOwnPropertyDescriptor(http, name)?.get === undefined
    const names = Object.keys(http).filter((name) => isPlain(name) || name === 'globalAgent')
    return `const http = process.getBuiltinModule('node:http')
      export default http
      export const { ${names.join(', ')} } = http`
  },
}

export type Bundle = {
  /** The file that starts the service. */
  service: string
  /** The file that runs commands of the command line, like bin/kinora.mjs. */
  commandLine: string
  remove(): Promise<void>
}

/**
 * Bundles the service and the command line. The tests start them a few hundred times, and loading the 1,150 modules of the
 * service one by one takes more CPU time than everything else that a start does.
 */
export async function bundleServer(root: string): Promise<Bundle> {
  const cache = join(root, 'node_modules/.cache')
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'test-server-'))
  // mkdtemp creates a folder for its owner only. If the tests run as root, some services run as another user.
  await chmod(folder, 0o755)
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    plugins: [keepModuleUrls, httpWithoutFetch],
    // Native code, worker threads, and what is loaded at first use only.
    ssr: { noExternal: true, external: ['koffi', 'pino', 'pino-pretty', 'vite', '@aws-sdk/client-s3'] },
    build: {
      ssr: true,
      outDir: folder,
      minify: false,
      target: 'node24',
      rolldownOptions: {
        input: { service: join(root, 'server/main.ts'), cli: join(root, 'server/cli/main.ts') },
        // Node would parse files with the ending .js twice to detect that they are modules.
        output: { entryFileNames: '[name].mjs', chunkFileNames: 'assets/[name]-[hash].mjs' },
      },
    },
  })
  const commandLine = join(folder, 'kinora.mjs')
  await writeFile(commandLine, `import { main } from './cli.mjs'\nawait main(process.argv.slice(2))\n`)
  return {
    service: join(folder, 'service.mjs'),
    commandLine,
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
