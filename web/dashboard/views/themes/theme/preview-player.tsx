import { useEffect, useRef, useState } from 'react'
import { ownPath } from '../../../api/own-path.ts'
import { type PlayerTheme, themeColors } from '../../../api/themes.ts'
import { messages } from '../../../messages/messages.ts'
import { Player } from '../../../ui/player.tsx'

const sdkPlayerId = 'preview'

/** The player accepts messages from this page only, and only with this id. Whoever edits a theme is not counted as a viewer. */
const previewUrl = (url: string) =>
  `${ownPath(url)}#analytics:false;api;sdkPlayerId:${sdkPlayerId};sdkOrigin:${btoa(location.origin)};muted`

/** The messages that make a player look like this, whatever theme its video has. */
function messagesOf(theme: PlayerTheme): Record<string, unknown>[] {
  const colors = Object.fromEntries(themeColors.map((name) => [name, theme[name]]))
  return [
    { message: 'setTheme', theme: colors },
    { message: theme.hideTitle ? 'hideTitle' : 'showTitle' },
    { message: theme.enableControls ? 'showControls' : 'hideControls' },
    { message: 'setLoop', loop: theme.forceLoop },
    { message: 'setLogo', logo: theme.assets.logo && ownPath(theme.assets.logo), link: theme.assets.link },
  ]
}

/** Sends the theme to the player as the SDK would, so that changes are seen before they are saved. */
export function PreviewPlayer({ url, theme }: { url: string; theme: PlayerTheme }) {
  const frame = useRef<HTMLIFrameElement>(null)
  const [isReady, setReady] = useState(false)
  // Private videos have a new URL in each response.
  const [first] = useState(url)
  useEffect(() => {
    const onMessage = ({ source, data }: MessageEvent) => {
      if (source === frame.current?.contentWindow && data?.type === 'sdkSync') setReady(true)
    }
    window.addEventListener('message', onMessage)
    return () => window.removeEventListener('message', onMessage)
  }, [])
  useEffect(() => {
    if (!isReady) return
    for (const message of messagesOf(theme))
      frame.current?.contentWindow?.postMessage({ ...message, sdkPlayerId }, location.origin)
  }, [isReady, first, theme])
  return (
    <Player
      ref={frame}
      src={previewUrl(first)}
      title={messages.themes.previewFrame}
      allow="fullscreen; picture-in-picture"
    />
  )
}
