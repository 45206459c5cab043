import type { Controls } from '../controls/controls.ts'
import type { Caption } from '../player-config.ts'
import { type CaptionPreferences, readPreferences, savePreferences } from '../preferences.ts'
import { initialCaption, preferredCaption } from './caption-choice.ts'
import { createCaptionMenu } from './caption-menu.ts'
import { openFileCaptions } from './file-captions.ts'
import { openNativeCaptions } from './native-captions.ts'

export type Captions = {
  /** For the SDK. Unlike a choice of the viewer, it is not remembered. */
  setShown(isShown: boolean): void
}

type Target = {
  video: HTMLVideoElement
  controls: Controls
  captions: Caption[]
  showSubtitles: boolean
  /** The browser plays the stream itself, with the captions in it. */
  isNative: boolean
  signal: AbortSignal
}

/** Adds captions and their menu to a player. */
export function startCaptions(target: Target): Captions {
  const { video, controls, captions, signal, showSubtitles } = target
  let preferences = readPreferences()
  let shown: Caption | undefined

  const menu = createCaptionMenu(captions, preferences, {
    onLanguage: (language) => choose(captions.find(({ srclang }) => srclang === language)),
    onStyle(style) {
      remember(style)
      menu.applyStyle(controls.controller, preferences)
    },
  })
  controls.addMenu(menu.button, menu.menu)
  menu.applyStyle(controls.controller, preferences)

  const note = (caption: Caption | undefined) => {
    shown = caption
    menu.select(caption?.srclang)
  }
  const output = target.isNative
    ? openNativeCaptions({ video, captions, signal, onChange: note })
    : openFileCaptions({ video, signal, addLayer: controls.addLayer })

  function show(caption: Caption | undefined) {
    output.show(caption)
    note(caption)
  }
  function remember(change: CaptionPreferences) {
    preferences = { ...preferences, ...change }
    savePreferences(preferences)
  }
  function choose(caption: Caption | undefined) {
    remember({ language: caption?.srclang ?? 'off' })
    show(caption)
  }
  const wishes = () => ({ remembered: preferences.language, showSubtitles, languages: navigator.languages })

  const initial = initialCaption(captions, wishes())
  if (initial || preferences.language === 'off') show(initial)
  onShortcut(controls.controller, signal, () =>
    choose(shown ? undefined : preferredCaption(captions, wishes())),
  )
  return {
    setShown: (isShown) => show(isShown ? (shown ?? preferredCaption(captions, wishes())) : undefined),
  }
}

/** Replaces the action of the C key: media-chrome would show the first track, whatever its language. */
function onShortcut(controller: HTMLElement, signal: AbortSignal, act: () => void): void {
  const replace = (event: Event) => {
    event.stopImmediatePropagation()
    act()
  }
  controller.addEventListener('mediatogglesubtitlesrequest', replace, { signal, capture: true })
}
