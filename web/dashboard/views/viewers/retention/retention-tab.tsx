import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { isTooOld } from '../../../api/analytics.ts'
import { metadataKeysQuery, retentionQuery } from '../../../api/viewing-sessions.ts'
import { texts } from '../../../texts/texts.ts'
import { SelectField } from '../../../ui/field.tsx'
import { EmptyState, ErrorState, Loading } from '../../../ui/states.tsx'
import { isLiveId } from '../filters/media-names.ts'
import { BreakdownPanel } from '../overview/breakdown-panel.tsx'
import { useViewersSearch } from '../use-viewers-search.ts'
import styles from './retention.module.css'
import { RetentionPanel } from './retention-panel.tsx'

/** Which parts of a video are watched. */
export default function RetentionTab() {
  const { search } = useViewersSearch()
  const { media } = search
  if (!media || isLiveId(media)) {
    return (
      <>
        <EmptyState icon="chart" title={texts.viewers.retentionChoose}>
          {media ? texts.viewers.retentionLive : texts.viewers.retentionChooseText}
        </EmptyState>
        {!media && <BreakdownPanel breakdown="media-id" filter="media" />}
      </>
    )
  }
  return <VideoRetention key={media} videoId={media} />
}

function VideoRetention({ videoId }: { videoId: string }) {
  const { environment, selections } = useViewersSearch()
  const [by, setBy] = useState<string>()
  const retention = useQuery(retentionQuery(environment, videoId, selections.current, by))
  const keys = useQuery(metadataKeysQuery(environment, selections.current))
  if (retention.isPending) return <Loading />
  if (!retention.data) {
    return isTooOld(retention.error) ? (
      <EmptyState icon="clock" title={texts.viewers.emptyTitle}>
        {texts.viewers.tooOld}
      </EmptyState>
    ) : (
      <ErrorState error={retention.error} onRetry={() => retention.refetch()} />
    )
  }
  const { sessions, curve } = retention.data
  if (sessions === 0 || curve.length === 0) {
    return (
      <EmptyState icon="chart" title={texts.viewers.retentionTitle}>
        {sessions === 0 ? texts.viewers.retentionNone : texts.viewers.retentionUnknown}
      </EmptyState>
    )
  }
  return (
    <div className={styles.tab}>
      {keys.data && keys.data.length > 0 && (
        <div className={styles.by}>
          <SelectField
            label={texts.viewers.retentionBy}
            value={by ?? ''}
            onChange={(event) => setBy(event.target.value || undefined)}
          >
            <option value="">{texts.viewers.retentionAll}</option>
            {keys.data.map(({ key }) => (
              <option key={key} value={key}>
                {key}
              </option>
            ))}
          </SelectField>
        </div>
      )}
      <RetentionPanel videoId={videoId} retention={retention.data} />
    </div>
  )
}
