import { createContext, useContext, useSyncExternalStore } from 'react'
import { PlayerLink, type PlayerState } from './player-link.ts'

/** The player of the page, and how to load it again after something that it shows has changed. */
export type PagePlayer = { link: PlayerLink; reload(): void }

export const PlayerContext = createContext<PagePlayer>({ link: new PlayerLink(), reload: () => {} })

export const usePlayer = () => useContext(PlayerContext)

/** A part of the player's state. The component is rendered again only when this part changes. */
export function usePlayerState<T>(select: (state: PlayerState) => T): T {
  const { link } = usePlayer()
  return useSyncExternalStore(link.subscribe, () => select(link.read()))
}
