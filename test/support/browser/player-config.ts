import type { PlayerConfig as ServerConfig } from '../../../server/players/config.ts'
import type { PlayerConfig as WebConfig } from '../../../web/player/player-config.ts'

// The server writes the configuration into the page, and the player reads it. Neither can import the type of the other,
// because the published package contains no web sources. These functions fail to compile if the types differ.

export const toWeb = (config: ServerConfig): WebConfig => config
export const toServer = (config: WebConfig): ServerConfig => config
