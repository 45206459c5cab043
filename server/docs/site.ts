import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Asset, loadAssets } from '../lib/assets.ts'

const builtFolder = fileURLToPath(new URL('../../web/docs/dist', import.meta.url))
const url = '/docs/assets/'

type Chunk = { file: string; css?: string[]; assets?: string[] }
/** By source file. */
type Manifest = Record<string, Chunk>

/** The styles and scripts of the pages, as built by web/build/docs.ts. */
export type Site = {
  files: Map<string, Asset>
  /** The tags that every page loads. */
  tags: string
  /** The tags of the API page. Undefined if they have not been built. */
  referenceTags: string | undefined
}

/** Without a build, pages have no style, and the API reference is the page without scripts. */
export async function loadSite(folder = builtFolder): Promise<Site> {
  try {
    const manifest: Manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'))
    const [site, reference, scalar] = ['site.ts', 'reference.ts', 'scalar.js'].map((name) => manifest[name]!)
    const scalarTag = `<script src="${url}${scalar!.file}" defer></script>`
    return {
      files: await loadAssets(folder),
      tags: [...preloads(site!), ...tagsOf(site!)].join('\n'),
      referenceTags: [scalarTag, ...tagsOf(reference!)].join('\n'),
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return { files: new Map(), tags: '', referenceTags: undefined }
  }
}

const tagsOf = ({ file, css = [] }: Chunk) => [
  ...css.map((name) => `<link rel="stylesheet" href="${url}${name}">`),
  `<script type="module" src="${url}${file}"></script>`,
]

/** The browser loads the font of Latin text together with the styles, so that no text moves. */
const preloads = ({ assets = [] }: Chunk) =>
  assets
    .filter((name) => /^geist-latin-wght-normal-/.test(name))
    .map((name) => `<link rel="preload" as="font" type="font/woff2" crossorigin href="${url}${name}">`)
