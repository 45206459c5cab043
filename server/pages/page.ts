import { hash } from 'node:crypto'
import { escapeHtml } from '../lib/html.ts'

const style = `
:root {
  color-scheme: light dark;
  --background: #fff;
  --text: #1b1d23;
  --muted: #5b6070;
  --line: #dfe2ea;
  --code: #f4f5f8;
  --link: #2449c4;
  --good: #14804a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --background: #14161b;
    --text: #e8eaf0;
    --muted: #a0a6b6;
    --line: #2f333e;
    --code: #1d2027;
    --link: #9db4ff;
    --good: #58c98b;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0;
  background: var(--background);
  color: var(--text);
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
main, footer { max-width: 760px; margin: 0 auto; padding: 0 20px; }
main { padding-top: clamp(32px, 8vh, 88px); }
footer { padding-top: 40px; padding-bottom: 40px; color: var(--muted); font-size: 14px; }
h1 { margin: 0 0 12px; font-size: clamp(26px, 5vw, 34px); line-height: 1.2; }
h2 { margin: 40px 0 8px; font-size: 20px; line-height: 1.3; }
p { margin: 0 0 14px; }
a { color: var(--link); text-underline-offset: 3px; }
a:focus-visible { outline: 3px solid var(--link); outline-offset: 3px; border-radius: 2px; }
code, pre { font: 14px/1.6 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre {
  margin: 0 0 18px;
  padding: 14px 16px;
  white-space: pre-wrap;
  overflow-wrap: anywhere;
  border: 1px solid var(--line);
  border-radius: 8px;
  background: var(--code);
}
ul { margin: 0 0 14px; padding-left: 22px; }
li { margin: 4px 0; }
.brand { display: flex; align-items: center; gap: 10px; margin: 0 0 28px; font-weight: 600; }
.muted { color: var(--muted); overflow-wrap: anywhere; }
.dot {
  display: inline-block;
  width: 0.5em;
  height: 0.5em;
  margin-right: 0.35em;
  border-radius: 50%;
  background: var(--good);
  vertical-align: 0.1em;
}
.status { margin: 0 0 4px; color: var(--muted); font-size: 15px; font-weight: 600; }
`

/** The style has a hash instead of a file, so that an error page needs no other request. */
const styleSource = `'sha256-${hash('sha256', style, 'base64')}'`

/** There is no frame-ancestors, because an embedded player may get an error page. */
const policy = `default-src 'none'; style-src ${styleSource}; img-src 'self'; base-uri 'none'; form-action 'none'`

export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': policy,
  // The URL of an error may contain a token, which other sites must not see.
  'referrer-policy': 'strict-origin',
  'x-content-type-options': 'nosniff',
}

export function renderPage({ title, main, footer }: { title: string; main: string; footer: string }): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="/favicon.ico" sizes="32x32">
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<style>${style}</style>
</head>
<body>
<main>
<p class="brand"><img src="/favicon.svg" width="28" height="28" alt="">Kinora</p>
${main}
</main>
<footer>${footer}</footer>
</body>
</html>
`
}
