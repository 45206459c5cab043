import { ownPath } from '../../../api/own-path.ts'
import type { Video, VideoStatus } from '../../../api/types.ts'
import { useShareLinks } from '../../../app/use-share-links.ts'
import { messages } from '../../../messages/messages.ts'
import { buttonClass } from '../../../ui/button.tsx'
import { CopyButton } from '../../../ui/copy-button.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import styles from './video-page.module.css'
import { hasMp4 } from './video-state.ts'

/** What most people want of a video. */
export function QuickShare({ video, status }: { video: Video; status: VideoStatus }) {
  const { embed, files } = messages.video
  const { public: isPublic } = video
  const { mp4 } = video.assets
  const { assets, error, renew } = useShareLinks(video, 'share')
  return (
    <div className={styles.share}>
      {isPublic && <CopyButton text={assets?.iframe} label={embed.copyCode} />}
      {/* Whoever copies again wants to give it to somebody else. */}
      <CopyButton
        text={assets?.player}
        label={isPublic ? embed.copyLink : embed.copyOneLink}
        onCopied={renew}
      />
      {mp4 && hasMp4(status) && (
        <a className={buttonClass()} href={`${ownPath(mp4)}?dl=1`} download>
          <Icon name="download" size={16} />
          {files.download}
        </a>
      )}
      {error && <ErrorText error={error} />}
    </div>
  )
}
