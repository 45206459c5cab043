import type { Ref } from 'react'
import styles from './player.module.css'

type PlayerProps = {
  ref?: Ref<HTMLIFrameElement>
  src: string
  title: string
  allow?: string
}

/** A player page, as other sites embed it. */
export const Player = ({ allow = 'autoplay; fullscreen; picture-in-picture', ...rest }: PlayerProps) => (
  <iframe className={styles.player} allow={allow} {...rest} />
)
