import type { ReactNode } from 'react'
import type { Import } from '../../../../api/imports.ts'
import { importMessages as t } from '../../../../messages/imports.ts'
import { formatBytes, formatDateTime, formatNumber, formatSpan } from '../../../../ui/format.ts'
import { Panel } from '../../../../ui/panel.tsx'
import { Progress } from '../../../../ui/progress.tsx'
import { findService } from '../services.ts'
import { countObjects, estimateBytes } from '../totals.ts'
import styles from './summary-panel.module.css'

/** How much it is, and how far. */
export function SummaryPanel({ run }: { run: Import }) {
  const { state, dryRun, isListed, items, videos, waitsUntil, failure } = run
  const { ended, total } = countObjects(items)
  return (
    <Panel title={t.summary} actions={!dryRun && <span>{t.ended(ended, total)}</span>}>
      {!dryRun && <Progress label={t.progress} fraction={total === 0 ? 0 : ended / total} />}
      {failure && (
        <p className="error-text" role="alert">
          {failure}
        </p>
      )}
      {state === 'running' && !isListed && <p className="muted">{t.listing(videos.count)}</p>}
      {waitsUntil && <p className="muted">{t.waits(formatDateTime(waitsUntil))}</p>}
      <Facts run={run} />
      {run.endedAt && items.failed > 0 && <p className="muted">{t.failedHint}</p>}
    </Panel>
  )
}

function Facts({ run }: { run: Import }) {
  const { isListed, dryRun, endedAt, keepIds, videos, disk, estimatedSeconds } = run
  const bytes = estimateBytes(videos)
  const isEstimate = videos.measured < videos.count
  const unknown = isListed ? t.facts.notTold : t.facts.unknown
  const about = (value: string) => (isEstimate ? t.facts.about(value) : value)
  const hasTooLittle = !endedAt && disk.free !== null && disk.needed > disk.free
  return (
    <>
      <dl className={styles.facts}>
        <Fact name={t.facts.videos}>{formatNumber(videos.count)}</Fact>
        <Fact name={t.facts.duration}>{videos.seconds > 0 ? formatSpan(videos.seconds) : unknown}</Fact>
        <Fact name={t.facts.size}>{bytes === undefined ? unknown : about(formatBytes(bytes))}</Fact>
        {!dryRun && <Fact name={t.facts.received}>{formatBytes(videos.receivedBytes)}</Fact>}
        {!endedAt && (
          <>
            <Fact name={t.facts.needed}>
              {bytes === undefined ? unknown : t.facts.about(formatBytes(disk.needed))}
            </Fact>
            {disk.free !== null && <Fact name={t.facts.free}>{formatBytes(disk.free)}</Fact>}
            <Fact name={dryRun ? t.facts.time : t.facts.timeLeft}>
              {estimatedSeconds === null ? unknown : t.facts.about(formatSpan(estimatedSeconds))}
            </Fact>
          </>
        )}
        <Fact name={t.facts.keepIds}>{keepIds ? t.facts.idsKept : t.facts.idsNew}</Fact>
        <Fact name={t.facts.include} isWide>
          {partsOf(run)
            .map((part) => t.parts[part])
            .join(', ') || t.facts.onlyVideos}
        </Fact>
      </dl>
      {hasTooLittle && <p className={styles.warning}>{t.tooLittleRoom}</p>}
    </>
  )
}

/** By default, an import includes also what its service does not have. */
const partsOf = ({ service, include }: Import) =>
  service === 'folder' ? [] : include.filter((part) => findService(service).parts.includes(part))

type FactProps = { name: string; isWide?: boolean; children: ReactNode }

const Fact = ({ name, isWide, children }: FactProps) => (
  <div className={isWide ? styles.wide : undefined}>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)
