import { Suspense, useRef } from 'react'
import { ownPath } from '../../../api/own-path.ts'
import type { CurvePoint, Retention } from '../../../api/viewing-sessions.ts'
import { messages } from '../../../messages/messages.ts'
import { formatDuration, formatNumber, formatPercent } from '../../../ui/format.ts'
import { lazyWithRetry } from '../../../ui/load-with-retry.ts'
import { Panel } from '../../../ui/panel.tsx'
import { Player } from '../../../ui/player.tsx'
import { Skeleton } from '../../../ui/states.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { useStable } from '../../../ui/use-stable.ts'
import type { ChartSeries } from '../chart/chart-types.ts'
import { TableToggle } from '../chart/table-toggle.tsx'
import { CsvButton } from '../csv-button.tsx'
import { useMedia } from '../filters/media-names.ts'
import styles from './retention.module.css'

const LineChart = lazyWithRetry(() => import('../chart/line-chart.tsx'))

const colors = ['--chart-2', '--chart-3', '--chart-4', '--chart-previous']

type RetentionPanelProps = { videoId: string; retention: Retention }

/** A part of the video, with one fraction for each line. */
type Row = CurvePoint & { fractions: number[] }

/** The curve, and the player at the position that was chosen on it. */
export function RetentionPanel({ videoId, retention }: RetentionPanelProps) {
  const { curve, sessions } = retention
  const media = useMedia(videoId)
  const frame = useRef<HTMLIFrameElement>(null)
  const player = useStable(media && ownPath(media.player), `${videoId} ${media !== undefined}`)
  const series: ChartSeries[] = [
    { label: messages.viewers.retentionAll, color: '--chart-1', values: curve.map(({ share }) => share) },
    ...colors.flatMap((color, i) => {
      const group = retention.values?.[i]
      return group ? [{ label: group.value, color, values: group.curve.map(({ share }) => share) }] : []
    }),
  ]
  const seek = (index: number) => {
    if (!player) return
    const message = { message: 'setCurrentTime', currentTime: curve[index]?.from ?? 0 }
    frame.current?.contentWindow?.postMessage(message, location.origin)
  }
  const rows: Row[] = curve.map((point, i) => ({
    ...point,
    fractions: series.map(({ values }) => values[i] ?? 0),
  }))
  return (
    <div className={styles.columns}>
      <Panel
        title={messages.viewers.retentionTitle}
        actions={
          <CsvButton
            name={messages.viewers.retentionTitle}
            load={() => ({
              header: [
                ...[messages.viewers.position, messages.viewers.retentionViewers],
                ...series.map(({ label }) => label),
              ],
              rows: rows.map(({ from, viewers, fractions }) => [from, viewers, ...fractions]),
            })}
          />
        }
      >
        <p className={styles.summary}>{summaryOf(sessions, curve)}</p>
        <Suspense fallback={<Skeleton height={270} />}>
          <LineChart
            points={curve.map(({ from, to }) => ({
              short: formatDuration(from),
              long: messages.viewers.part(formatDuration(from), formatDuration(to)),
            }))}
            series={series}
            summary={summaryOf(sessions, curve)}
            format={formatPercent}
            steps={[0.25, 0.5]}
            max={1}
            onChoose={seek}
          />
        </Suspense>
        <RetentionTable rows={rows} labels={series.map(({ label }) => label)} />
      </Panel>
      {media && player && (
        <Panel title={<bdi>{media.title}</bdi>}>
          <Player
            ref={frame}
            src={`${player}#api;muted;analytics:false`}
            title={messages.viewers.player(media.title)}
          />
          <p className="secondary">{messages.viewers.retentionSeek}</p>
        </Panel>
      )}
    </div>
  )
}

function RetentionTable({ rows, labels }: { rows: Row[]; labels: string[] }) {
  const columns: Column<Row>[] = [
    { label: messages.viewers.position, cell: ({ from }) => formatDuration(from) },
    {
      label: messages.viewers.retentionViewers,
      isNumber: true,
      cell: ({ viewers }) => formatNumber(viewers),
    },
    ...labels.map((label, i) => ({
      label,
      isNumber: true,
      cell: ({ fractions }: Row) => formatPercent(fractions[i] ?? 0),
    })),
  ]
  return (
    <TableToggle>
      <Table
        label={messages.viewers.retentionTitle}
        rows={rows}
        keyOf={({ from }) => String(from)}
        columns={columns}
      />
    </TableToggle>
  )
}

function summaryOf(sessions: number, curve: CurvePoint[]): string {
  const percent = (index: number) => formatPercent(curve.at(index)?.share ?? 0)
  return messages.viewers.retentionSummary(
    formatNumber(sessions),
    percent(0),
    percent(Math.floor(curve.length / 2)),
    percent(-1),
  )
}
