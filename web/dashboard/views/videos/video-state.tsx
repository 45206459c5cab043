import type { VideoState } from '../../api/videos.ts'
import { texts } from '../../texts/texts.ts'
import { Badge, type BadgeLook } from '../../ui/badge.tsx'
import { Icon } from '../../ui/icon.tsx'

const looks: Record<VideoState, BadgeLook> = {
  ready: 'good',
  processing: 'info',
  failed: 'bad',
  missing: 'warn',
}

/** Nothing for videos that are ready, because most of them are. */
export const StateBadge = ({ state }: { state: VideoState }) =>
  state === 'ready' ? null : <Badge look={looks[state]}>{texts.videos.states[state]}</Badge>

/** Nothing for public videos. */
export const VisibilityMark = ({ isPublic }: { isPublic: boolean }) =>
  isPublic ? null : (
    <Badge>
      <Icon name="lock" size={12} />
      {texts.videos.private}
    </Badge>
  )
