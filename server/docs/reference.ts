import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Asset, loadAssets, textAsset } from '../lib/assets.ts'
import { icons, topBar } from './frame.ts'

const builtFolder = fileURLToPath(new URL('../../web/reference/dist', import.meta.url))

type Names = { scalar: string; script: string; style: string }

export type Reference = { page: Asset; files: Map<string, Asset> }

/** The page that runs scripts, and its files. Undefined if it has not been built. */
export async function loadReference(folder = builtFolder): Promise<Reference | undefined> {
  try {
    const names: Names = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'))
    const html = await textAsset('text/html; charset=utf-8', page(names))
    return { page: html, files: await loadAssets(folder) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}

const page = ({ scalar, script, style }: Names) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Kinora API</title>
${icons}
<link rel="stylesheet" href="/docs/bar.css">
<link rel="stylesheet" href="/docs/assets/${style}">
<noscript><meta http-equiv="refresh" content="0; url=/docs/plain"></noscript>
<script src="/docs/assets/${scalar}" defer></script>
<script src="/docs/assets/${script}" defer></script>
</head>
<body>
${topBar}
<div id="reference"></div>
<main id="loading"><h1>Kinora API</h1>
<p>The reference is loading. <a href="/docs/plain">The page without scripts</a> has the same content.</p></main>
</body>
</html>
`
