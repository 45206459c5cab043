/**
 * The path of a URL of the service. The page loads it from its own origin, which the browser reaches in any case. The
 * public URL may be another one, for example that of a CDN.
 */
export function ownPath(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}
