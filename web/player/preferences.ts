// The viewer's choices, kept in the browser for all videos of this service.

/** What the viewer has chosen for captions. */
export type CaptionPreferences = {
  /** A language tag, or `off`. */
  language?: string
  size?: string
  background?: string
}

/** What the viewer has chosen for volume and speed. */
export type PlaybackPreferences = { volume?: number; muted?: boolean; rate?: number }

const captionsKey = 'kinora-captions'
const playbackKey = 'kinora-playback'
const hintKey = 'kinora-360'

/** The choices that could not be stored. They are valid until the page is closed. */
const unstored = new Map<string, string>()

/** In an iframe of another site, access to storage may throw. */
function load(key: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(unstored.get(key) ?? localStorage.getItem(key) ?? '{}')
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

function save(key: string, value: object): void {
  const text = JSON.stringify(value)
  try {
    localStorage.setItem(key, text)
    unstored.delete(key)
  } catch {
    unstored.set(key, text)
  }
}

/** Stored values are untrusted. */
export function readPreferences(): CaptionPreferences {
  const stored = load(captionsKey)
  const text = (name: string) => (typeof stored[name] === 'string' ? stored[name] : undefined)
  const [language, size, background] = ['language', 'size', 'background'].map(text)
  return { ...(language && { language }), ...(size && { size }), ...(background && { background }) }
}

export const savePreferences = (preferences: CaptionPreferences) => save(captionsKey, preferences)

export function readPlayback(): PlaybackPreferences {
  const { volume, muted, rate } = load(playbackKey)
  return {
    ...(isBetween(volume, 0, 1) && { volume }),
    ...(typeof muted === 'boolean' && { muted }),
    ...(isBetween(rate, 0.25, 2) && { rate }),
  }
}

export const savePlayback = (change: PlaybackPreferences) =>
  save(playbackKey, { ...readPlayback(), ...change })

const isBetween = (value: unknown, min: number, max: number): value is number =>
  typeof value === 'number' && value >= min && value <= max

/** Whether the viewer knows that the view of a 360° video can be turned. */
export const knowsPanorama = () => load(hintKey).known === true

export const saveKnowsPanorama = () => save(hintKey, { known: true })
