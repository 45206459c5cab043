// The API page. Everything of Scalar that would contact another host is off.
import './style/reference.css'
import { readTheme } from '../shared/theme.ts'
import { fillKey } from './key/fill.ts'
import { readKey } from './key/kept-key.ts'

declare const Scalar: { createApiReference(selector: string, configuration: object): void }

const systemIsDark = matchMedia('(prefers-color-scheme: dark)')

/** Some styles of Scalar depend on a class of the body, which follows our theme. */
function followTheme(): void {
  const theme = readTheme()
  const isDark = theme === 'system' ? systemIsDark.matches : theme === 'dark'
  document.body.classList.toggle('dark-mode', isDark)
  document.body.classList.toggle('light-mode', !isDark)
}
followTheme()
systemIsDark.addEventListener('change', followTheme)
const observer = new MutationObserver(followTheme)
observer.observe(document.body, { attributeFilter: ['class'] })
observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })

type Sampled = { 'x-codeSamples'?: { source: string }[] }

/** The document, with the key of the reader in its samples. */
async function loadDocument(key: string | undefined) {
  const document: { paths: Record<string, Record<string, Sampled>> } = await (
    await fetch('/docs/openapi.json')
  ).json()
  const samples = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap((operation) => operation['x-codeSamples'] ?? [])
  if (key) for (const sample of samples) sample.source = fillKey(sample.source, key)
  return document
}

const token = readKey()?.key

Scalar.createApiReference('#reference', {
  content: await loadDocument(token),
  withDefaultFonts: false,
  hideSearch: true,
  hideDarkModeToggle: true,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  documentDownloadType: 'none',
  // The document has its own code samples, which the tests run.
  hiddenClients: true,
  // One field, for a key or an access token. Scalar does not store it.
  authentication: {
    preferredSecurityScheme: 'bearerAuth',
    ...(token && { securitySchemes: { bearerAuth: { token } } }),
  },
  persistAuth: false,
  defaultRequestBodyView: 'raw',
  modelsSectionLabel: 'Schemas',
  orderSchemaPropertiesBy: 'preserve',
  orderRequiredPropertiesFirst: false,
  generateOperationSlug: ({ operationId }: { operationId: string }) => operationId,
  onLoaded() {
    document.querySelector('#content')?.remove()
    document.querySelector('#reference main')?.setAttribute('id', 'content')
  },
  setPageTitle: ({ title }: { title: string }) => `${title} – Kinora API`,
})
