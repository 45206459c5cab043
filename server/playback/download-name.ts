/** File systems take 255 bytes, and browsers add to a name that exists. */
const mostBytes = 200

/** A file's name of a video's title: what leads into folders, hides the name or turns it round is left out. */
export function downloadName(title: string): string {
  const plain = title
    .toWellFormed()
    .replaceAll(/[/\\:*?"<>|]/g, '-')
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}\uFFFD]/gu, '')
    .replaceAll(/\s+/g, ' ')
    .replace(/^[\s.]+/, '')
  let name = ''
  for (const letter of plain) {
    if (Buffer.byteLength(name + letter) > mostBytes) break
    name += letter
  }
  return `${name.replace(/[\s.]+$/, '') || 'video'}.mp4`
}

/** Twice: old clients know ASCII alone (RFC 6266, appendix D). */
export function attachment(title: string): string {
  const name = downloadName(title)
  const ascii = name.replaceAll(/[^\x20-\x7e]/gu, '_').replaceAll('%', '_')
  // What encodeURIComponent leaves and RFC 8187 does not allow.
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
