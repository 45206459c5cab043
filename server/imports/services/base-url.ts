import { invalidAttribute } from '../../lib/errors.ts'

/** The base URL of an API without a slash at its end. */
export function readBaseUrl(url: string): string {
  const base = URL.parse(url)
  if (!base || (base.protocol !== 'http:' && base.protocol !== 'https:') || base.username || base.search)
    throw invalidAttribute('url', '"url" must be an http or https URL, such as https://video.example.com.')
  return base.origin + base.pathname.replace(/\/+$/, '')
}
