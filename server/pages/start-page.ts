import { escapeHtml } from '../lib/html.ts'
import { renderPage } from './page.ts'

/** What the service is and how to upload to it. The page is public, so it contains no secrets. */
export function startPage({ publicUrl, version }: { publicUrl: string; version: string }): string {
  const example = (...lines: string[]) => `<pre><code>${escapeHtml(lines.join('\n'))}</code></pre>`
  const create = example(
    'export KINORA_KEY=…',
    `curl -u "$KINORA_KEY:" ${publicUrl}/videos \\`,
    `  -H 'content-type: application/json' -d '{"title": "My first video"}'`,
  )
  const upload = example(
    'export VIDEO_ID=…',
    `curl -u "$KINORA_KEY:" ${publicUrl}/videos/$VIDEO_ID/source \\`,
    '  -F file=@film.mp4',
  )
  const command = example(`kinora login ${publicUrl}`, 'kinora upload film.mp4 --watch')
  const main = `<h1><span class="dot"></span>Kinora is running</h1>
<p>This is a video hosting API. Upload a video, and play or embed it a second later.</p>
<p><a href="/dashboard">Open the dashboard</a></p>
<h2>Upload with curl</h2>
<p>You need an API key. The first start of the service prints two, and <code>kinora keys create</code> creates more.</p>
${create}
<p>The response contains a <code>videoId</code>. Upload a file to this video:</p>
${upload}
<p>The player page is <code>${escapeHtml(publicUrl)}/vod/$VIDEO_ID</code>.</p>
<h2>Upload from the command line</h2>
<p>The <code>kinora</code> command creates the video, uploads the file and shows the progress.
In a checkout, it is <code>npm run kinora --</code>.</p>
${command}
<h2>Documentation</h2>
<ul>
<li><a href="/docs/guides/quickstart">Quickstart</a></li>
<li><a href="/docs">API reference</a></li>
<li><a href="/docs/guides">Guides</a></li>
<li><a href="/openapi.json">OpenAPI document</a></li>
</ul>`
  return renderPage({ title: 'Kinora', main, footer: `Kinora ${escapeHtml(version)}` })
}
