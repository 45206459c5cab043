import { escapeHtml } from '../lib/html.ts'

/** Escapes the text, and turns `backticks` into code elements and Markdown links to our pages into links. */
export const prose = (text: string) =>
  escapeHtml(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\[([^\]]+)\]\((\/[^)\s]*)\)/g, '<a href="$2">$1</a>')

/** The links at the top of every page of the docs. */
export const topBar = `<header class="bar"><a href="/"><b>Kinora</b></a><a href="/docs">API reference</a><a href="/docs/guides">Guides</a><a class="last" href="/openapi.json">OpenAPI</a></header>`

export const icons = `<link rel="icon" href="/favicon.ico" sizes="32x32">
<link rel="icon" href="/favicon.svg" type="image/svg+xml">`

/** A page of the docs without scripts. */
export function frame(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
${icons}
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
${topBar}
<div class="page">
${body}
</div>
</body>
</html>
`
}
