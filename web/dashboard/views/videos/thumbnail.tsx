import { useEffect, useState } from 'react'
import { imagePath } from '../../api/own-path.ts'
import type { ListedVideo } from '../../api/videos.ts'
import { classNames } from '../../ui/class-names.ts'
import { formatDuration } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.tsx'
import { useStable } from '../../ui/use-stable.ts'
import { Storyboard } from './list/storyboard.tsx'
import styles from './thumbnail.module.css'

/** Passing over a grid with the mouse starts no previews. */
const hoverMs = 250

/** The picture of a video. It moves while the pointer or the focus is on its cell. */
export function Thumbnail({ video, isSmall = false }: { video: ListedVideo; isSmall?: boolean }) {
  const { assets, status, videoId, updatedAt } = video
  const { thumbnailVersion: version } = status
  // Every response has new URLs for private videos, but the same pictures. The preview is made after the thumbnail.
  const pictures = [videoId, updatedAt, version, assets.preview?.tiles]
  const { thumbnail, preview } = useStable(assets, pictures.join())
  const [isActive, watch] = useCellActivity()
  const [failedVersion, setFailedVersion] = useState<string>()
  return (
    <div ref={watch} className={classNames(styles.frame, isSmall && styles.small)}>
      {version !== null && status.state !== 'failed' ? (
        <img
          hidden={version === failedVersion || (isActive && preview !== undefined)}
          src={imagePath(thumbnail, version)}
          alt=""
          loading="lazy"
          decoding="async"
          onError={() => setFailedVersion(version)}
        />
      ) : (
        <Icon name={status.state === 'failed' ? 'warning' : 'video'} size={isSmall ? 20 : 28} />
      )}
      {isActive && preview && <Storyboard preview={preview} />}
      {!isSmall && status.duration !== null && (
        <span className={styles.duration}>{formatDuration(status.duration)}</span>
      )}
    </div>
  )
}

/** Whether the pointer has been on the cell for a moment, or the keyboard is there. */
function useCellActivity() {
  const [element, watch] = useState<HTMLElement | null>(null)
  const [isActive, setActive] = useState(false)
  useEffect(() => {
    const cell = element?.closest<HTMLElement>('[role=gridcell]')
    if (!cell) return
    let timer: ReturnType<typeof setTimeout>
    const start = () => {
      timer = setTimeout(() => setActive(true), hoverMs)
    }
    const stop = () => {
      clearTimeout(timer)
      setActive(false)
    }
    cell.addEventListener('pointerenter', start)
    cell.addEventListener('pointerleave', stop)
    cell.addEventListener('focus', start)
    cell.addEventListener('blur', stop)
    return () => {
      clearTimeout(timer)
      cell.removeEventListener('pointerenter', start)
      cell.removeEventListener('pointerleave', stop)
      cell.removeEventListener('focus', start)
      cell.removeEventListener('blur', stop)
    }
  }, [element])
  return [isActive, watch] as const
}
