import type { VideoState } from '../../api/videos.ts'
import { messages } from '../../messages/messages.ts'
import { Badge, type BadgeVariant } from '../../ui/badge.tsx'
import { Icon } from '../../ui/icon.tsx'

const variants: Record<VideoState, BadgeVariant> = {
  ready: 'good',
  processing: 'info',
  failed: 'bad',
  missing: 'plain',
}

/** Nothing for videos that are ready, because most of them are. */
export const StateBadge = ({ state }: { state: VideoState }) =>
  state === 'ready' ? null : <Badge variant={variants[state]}>{messages.videos.states[state]}</Badge>

/** Nothing for public videos. */
export const VisibilityMark = ({ isPublic }: { isPublic: boolean }) =>
  isPublic ? null : (
    <Badge>
      <Icon name="lock" size={12} />
      {messages.videos.private}
    </Badge>
  )
