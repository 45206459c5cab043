import contentDisposition from 'content-disposition'

/** File systems allow 255 bytes, and browsers append to a name that exists. */
const maxBytes = 200

/** A file name made of a video's title, without characters that lead into folders, hide the extension or reverse text. */
export function downloadName(title: string): string {
  const plain = title
    .toWellFormed()
    .replaceAll(/[/\\:*?"<>|]/g, '-')
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}\uFFFD]/gu, '')
    .replaceAll(/\s+/g, ' ')
    .replace(/^[\s.]+/, '')
  let name = ''
  for (const letter of plain) {
    if (Buffer.byteLength(name + letter) > maxBytes) break
    name += letter
  }
  return `${name.replace(/[\s.]+$/, '') || 'video'}.mp4`
}

/**
 * Old clients know ASCII names only (RFC 6266, appendix D). Version 1 of content-disposition always quotes the name, as
 * clients expect; later versions do not.
 */
export function attachment(title: string): string {
  const name = downloadName(title)
  const fallback = name.replaceAll(/[^\x20-\x7e]/gu, '_').replaceAll('%', '_')
  return contentDisposition(name, { fallback })
}
