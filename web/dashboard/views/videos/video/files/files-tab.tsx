import { ownPath } from '../../../../api/own-path.ts'
import type { Video, VideoStatus } from '../../../../api/types.ts'
import { messages } from '../../../../messages/messages.ts'
import { buttonClass } from '../../../../ui/button.tsx'
import {
  formatBitRate,
  formatBytes,
  formatDateTime,
  formatDuration,
  formatNumber,
} from '../../../../ui/format.ts'
import { Icon } from '../../../../ui/icon.tsx'
import { Panel } from '../../../../ui/panel.tsx'
import { QualityList } from '../quality-list.tsx'
import { hasMp4 } from '../video-state.ts'
import styles from './files-tab.module.css'

const words = messages.video.files

/** What was uploaded, and what was made of it. */
export function FilesTab({ video, status }: { video: Video; status: VideoStatus }) {
  const { qualities } = status.encoding
  return (
    <div className="stack">
      <Panel title={words.source}>
        <SourceFacts video={video} status={status} />
      </Panel>
      <Panel title={words.qualities}>
        {qualities.length > 0 ? (
          <QualityList qualities={qualities} />
        ) : (
          <p className="muted">{words.noQualities}</p>
        )}
      </Panel>
      <Panel title={words.mp4}>
        <Mp4 video={video} status={status} />
      </Panel>
    </div>
  )
}

/** Left out if they do not apply to the video. */
const optionalFacts: string[] = ['URL', words.originalFile]

function SourceFacts({ video, status }: { video: Video; status: VideoStatus }) {
  const { metadata: media } = status.encoding
  const { type, uri } = video.source
  const { filesize, sourceDroppedAt } = status.ingest ?? {}
  const facts: [string, string | null | undefined | false | 0][] = [
    [words.origin, type in words.origins ? words.origins[type as keyof typeof words.origins] : type],
    ['URL', type === 'url' && uri],
    [words.dimensions, media.width && media.height && `${media.width} × ${media.height}`],
    [words.aspectRatio, media.aspectRatio?.replace('/', ':')],
    [words.duration, media.duration !== null && formatDuration(media.duration)],
    [words.fileSize, filesize && formatBytes(filesize)],
    [words.originalFile, sourceDroppedAt && words.dropped(formatDateTime(sourceDroppedAt))],
    [words.bitRate, media.bitrate && formatBitRate(media.bitrate * 1000)],
    [words.frameRate, media.framerate && words.framesPerSecond(formatNumber(media.framerate))],
    [words.videoCodec, media.videoCodec],
    [words.audioCodec, media.audioCodec],
    [words.sampleRate, media.samplerate && `${formatNumber(media.samplerate)} Hz`],
  ]
  return (
    <dl className={styles.facts}>
      {facts.map(
        ([name, value]) =>
          (value || !optionalFacts.includes(name)) && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value || <span className="muted">{words.unknown}</span>}</dd>
            </div>
          ),
      )}
    </dl>
  )
}

function Mp4({ video, status }: { video: Video; status: VideoStatus }) {
  const { mp4 } = video.assets
  if (!mp4) return <p className="muted">{words.noMp4}</p>
  if (!hasMp4(status)) return <p className="muted">{words.mp4Waiting}</p>
  return (
    <div>
      <a className={buttonClass()} href={`${ownPath(mp4)}?dl=1`} download>
        <Icon name="download" size={16} />
        {words.download}
      </a>
    </div>
  )
}
