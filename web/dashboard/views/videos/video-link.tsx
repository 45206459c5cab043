import { useRouter } from '@tanstack/react-router'
import type { MouseEvent } from 'react'
import { useEnvironment } from '../../app/environment.ts'

type VideoLinkProps = { videoId: string; title: string; className: string | undefined }

/** Hundreds of links of the router, which follow every change of the URL, would slow down scrolling. */
export function VideoLink({ videoId, title, className }: VideoLinkProps) {
  const environment = useEnvironment()
  const { history } = useRouter()
  const href = `/dashboard/${environment}/videos/${encodeURIComponent(videoId)}`
  const onClick = (event: MouseEvent) => {
    const opensElsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey
    if (opensElsewhere || event.defaultPrevented) return
    event.preventDefault()
    history.push(href)
  }
  return (
    <a href={href} tabIndex={-1} className={className} title={title} onClick={onClick}>
      <bdi>{title}</bdi>
    </a>
  )
}
