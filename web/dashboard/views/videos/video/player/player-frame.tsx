import { useState } from 'react'
import { ownPath } from '../../../../api/own-path.ts'
import type { Video } from '../../../../api/types.ts'
import { messages } from '../../../../messages/messages.ts'
import { Player } from '../../../../ui/player.tsx'
import { usePlayer } from './use-player.ts'

/** Our own player. `version` changes when it has to be loaded again. */
export function PlayerFrame({ video, version }: { video: Video; version: number }) {
  const { public: isPublic, panoramic, playerId } = video
  // Not the assets: those of a private video have a new token in each response.
  const key = JSON.stringify([version, isPublic, panoramic, playerId])
  return <Frame key={key} title={video.title} url={video.assets.player} />
}

function Frame({ title, url }: { title: string; url: string }) {
  const { link } = usePlayer()
  const [src] = useState(() => `${ownPath(url)}#${startOf(link.state.read().timeMs)}${link.fragment}`)
  return (
    <Player
      ref={link.attach}
      src={src}
      title={messages.video.player(title)}
      allow="autoplay; fullscreen; picture-in-picture; accelerometer; gyroscope"
    />
  )
}

const startOf = (timeMs: number) => (timeMs > 0 ? `t=${timeMs / 1000};` : '')
