/** What the viewer has chosen for captions. Kept in the browser, for all videos of this service. */
export type CaptionPreferences = {
  /** A language tag, or `off`. */
  language?: string
  size?: string
  background?: string
}

const key = 'kinora-captions'

export function readPreferences(): CaptionPreferences {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key) ?? '{}')
    if (typeof stored !== 'object' || stored === null) return {}
    const text = (name: string) => {
      const value = (stored as Record<string, unknown>)[name]
      return typeof value === 'string' ? value : undefined
    }
    const [language, size, background] = ['language', 'size', 'background'].map(text)
    return { ...(language && { language }), ...(size && { size }), ...(background && { background }) }
  } catch {
    // In an iframe of another site, access to storage may throw.
    return {}
  }
}

/** Where nothing can be stored, the choice is valid until the page is closed. */
export function savePreferences(preferences: CaptionPreferences): void {
  try {
    localStorage.setItem(key, JSON.stringify(preferences))
  } catch {}
}
