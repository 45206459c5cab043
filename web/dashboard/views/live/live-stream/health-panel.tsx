import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import {
  type Broadcast,
  type BroadcastHealth,
  type LiveStream,
  viewersQuery,
} from '../../../api/live-streams.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Badge } from '../../../ui/badge.tsx'
import { formatBitRate, formatNumber } from '../../../ui/format.ts'
import { Panel } from '../../../ui/panel.tsx'
import { HealthChart } from './health-chart.tsx'
import { useHealthHistory } from './health-history.ts'
import styles from './health-panel.module.css'

type HealthPanelProps = {
  stream: LiveStream
  current: Broadcast | undefined
  /** Its values stay after the end. */
  last: Broadcast | undefined
  /** When the values were loaded. */
  now: number
}

/** What the encoder sends, measured every second, and how many watch. */
export function HealthPanel({ stream, current, last, now }: HealthPanelProps) {
  const samples = useHealthHistory(current)
  const shown = current ?? last
  const health = shown?.health
  const problems = current?.health?.problems ?? []
  return (
    <Panel
      title={messages.live.health}
      actions={
        current?.health && problems.length === 0 && <Badge variant="good">{messages.live.healthGood}</Badge>
      }
    >
      {/* Only problems are announced: the other values change every second. */}
      <div role="status" className={styles.status}>
        {problems.length > 0 && (
          <ul className={styles.problems} aria-label={messages.live.problems}>
            {problems.map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        )}
      </div>
      {current && <HealthChart samples={samples} />}
      {shown && health ? (
        <>
          {!current && <p className="secondary">{messages.live.healthLast}</p>}
          <dl className={styles.values}>
            {current && <Viewers stream={stream} now={now} />}
            <Values health={health} qualities={shown.qualities} />
          </dl>
        </>
      ) : (
        <p className="secondary">{messages.live.healthWaiting}</p>
      )}
    </Panel>
  )
}

function Viewers({ stream, now }: { stream: LiveStream; now: number }) {
  const { data } = useQuery(viewersQuery(useEnvironment(), stream.liveStreamId, now))
  return <Value label={messages.live.currentViewers}>{data === undefined ? '–' : formatNumber(data)}</Value>
}

type ValuesProps = { health: BroadcastHealth; qualities: string[] }

function Values({ health, qualities }: ValuesProps) {
  const { bitRate, frameRate, keyFrameInterval, width, height, codecs, droppedFrames, clockJumps } = health
  const { protocol, link } = health
  const number = (value: number | null, format: (value: number) => string) =>
    value === null ? '–' : format(value)
  return (
    <>
      <Value label={messages.live.bitRate}>{number(bitRate, formatBitRate)}</Value>
      <Value label={messages.live.frameRate}>
        {number(frameRate, (value) => messages.live.fps(formatNumber(Math.round(value * 10) / 10)))}
      </Value>
      <Value label={messages.live.keyFrameInterval}>
        {number(keyFrameInterval, (value) => messages.live.everySeconds(formatNumber(value)))}
      </Value>
      <Value label={messages.live.resolution}>{width && height ? `${width} × ${height}` : '–'}</Value>
      <Value label={messages.live.droppedFrames} isBad={droppedFrames > 0}>
        {formatNumber(droppedFrames)}
      </Value>
      {clockJumps > 0 && <Value label={messages.live.clockJumps}>{formatNumber(clockJumps)}</Value>}
      <Value label={messages.live.codecs}>
        {codecs ? <span title={codecs}>{codecNames(codecs)}</span> : '–'}
      </Value>
      {protocol && <Value label={messages.live.protocol}>{protocol.toUpperCase()}</Value>}
      {link && <LinkValues link={link} />}
      <Value label={messages.live.qualities}>{qualities.join(', ') || '–'}</Value>
    </>
  )
}

function LinkValues({ link }: { link: NonNullable<BroadcastHealth['link']> }) {
  const { roundTrip, packetLoss, retransmittedPackets, lostPackets } = link
  const { live } = messages
  return (
    <>
      <Value label={live.roundTrip}>
        {roundTrip === null ? '–' : live.milliseconds(formatNumber(Math.round(1000 * roundTrip)))}
      </Value>
      <Value label={live.packetLoss}>{live.percent(formatNumber(Math.round(1000 * packetLoss) / 10))}</Value>
      <Value label={live.retransmittedPackets}>{formatNumber(retransmittedPackets)}</Value>
      <Value label={live.lostPackets} isBad={lostPackets > 0}>
        {formatNumber(lostPackets)}
      </Value>
    </>
  )
}

const names: Record<string, string> = { avc1: 'H.264', mp4a: 'AAC', 'mp4a.40.34': 'MP3' }

/** "avc1.42c01e,mp4a.40.2" is H.264 and AAC. */
const codecNames = (codecs: string) =>
  codecs
    .split(',')
    .map((codec) => names[codec] ?? names[codec.split('.')[0]!] ?? codec)
    .join(', ')

type ValueProps = { label: string; isBad?: boolean; children: ReactNode }

const Value = ({ label, isBad = false, children }: ValueProps) => (
  <div className={styles.value}>
    <dt>{label}</dt>
    <dd className={isBad ? styles.bad : undefined}>{children}</dd>
  </div>
)
