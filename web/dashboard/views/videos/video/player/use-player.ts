import { createContext, useContext } from 'react'
import { useStorePart } from '../../../../ui/store.ts'
import { PlayerLink, type PlayerState } from './player-link.ts'

/** The player of the page, and how to load it again after something that it shows has changed. */
export type PagePlayer = { link: PlayerLink; reload(): void }

export const PlayerContext = createContext<PagePlayer>({ link: new PlayerLink(), reload: () => {} })

export const usePlayer = () => useContext(PlayerContext)

/** A part of the player's state. The component is rendered again only when this part changes. */
export const usePlayerState = <T>(select: (state: PlayerState) => T): T =>
  useStorePart(usePlayer().link.state, select)
