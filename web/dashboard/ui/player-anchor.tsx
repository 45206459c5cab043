import type { ReactNode } from 'react'

type PlayerAnchorProps = { className?: string | undefined; url: string; onOpen(): void; children: ReactNode }

/** Whoever opens the URL of something private uses it up. The page then shows others. */
export const PlayerAnchor = ({ url, onOpen, ...rest }: PlayerAnchorProps) => (
  <a {...rest} href={url} target="_blank" rel="noreferrer" onClick={onOpen} onAuxClick={onOpen} />
)
