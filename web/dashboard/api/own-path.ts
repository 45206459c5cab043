/**
 * The path of a URL of the service. The page loads it from its own origin, which the browser reaches in any case. The
 * public URL may be another one, for example that of a CDN.
 */
export function ownPath(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}

/** The same for an image that may change. Another URL for each version, so that no cache shows an earlier one. */
export function imagePath(url: string, version: string): string {
  const path = ownPath(url)
  return `${path}${path.includes('?') ? '&' : '?'}v=${version}`
}
