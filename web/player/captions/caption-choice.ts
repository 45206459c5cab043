import { findLanguage } from '../languages.ts'

type Caption = { srclang: string; default: boolean }

type Wishes = {
  /** The viewer's last choice: a language, or `off`. */
  remembered: string | undefined
  /** The page that embeds the player wants captions. */
  showSubtitles: boolean
  /** The viewer's languages, best first. */
  languages: readonly string[]
}

/** The captions to show at the start. The viewer's own choice comes before that of the page and of the video. */
export function initialCaption<T extends Caption>(captions: T[], wishes: Wishes): T | undefined {
  const { remembered, showSubtitles } = wishes
  if (remembered === 'off') return undefined
  const chosen = remembered && findLanguage(captions, [remembered])
  if (chosen) return chosen
  return showSubtitles ? preferredCaption(captions, wishes) : captions.find((each) => each.default)
}

/** The captions to show when someone asks for captions in no particular language. */
export function preferredCaption<T extends Caption>(captions: T[], wishes: Wishes): T | undefined {
  const { remembered, languages } = wishes
  return (
    (remembered && findLanguage(captions, [remembered])) ||
    captions.find((each) => each.default) ||
    findLanguage(captions, languages) ||
    captions[0]
  )
}
