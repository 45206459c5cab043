import { frame } from './frame.ts'
import type { Site } from './site.ts'

/** The page that runs Scalar. */
export const scriptedReference = (site: Site) =>
  frame(site, {
    title: 'Kinora API',
    section: 'reference',
    tags: `<noscript><meta http-equiv="refresh" content="0; url=/docs/plain"></noscript>\n${site.referenceTags}`,
    body: `<div id="reference"></div>
<main id="content" class="text single"><h1>Kinora API</h1>
<p>The reference is loading. <a href="/docs/plain">The page without scripts</a> has the same content.</p></main>`,
  })
