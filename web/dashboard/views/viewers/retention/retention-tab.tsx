import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { isTooOld } from '../../../api/analytics.ts'
import { metadataKeysQuery, retentionQuery } from '../../../api/viewing-sessions.ts'
import { messages } from '../../../messages/messages.ts'
import { SelectField } from '../../../ui/field.tsx'
import { EmptyState, ErrorState, Loading } from '../../../ui/states.tsx'
import { isLiveId } from '../filters/media-names.ts'
import { BreakdownPanel } from '../overview/breakdown-panel.tsx'
import { useViewersSearch } from '../use-viewers-search.ts'
import { RetentionPanel } from './retention-panel.tsx'

/** Which parts of a video are watched. */
export default function RetentionTab() {
  const { search } = useViewersSearch()
  const { media } = search
  if (!media || isLiveId(media)) {
    return (
      <>
        <EmptyState icon="chart" title={messages.viewers.retentionChoose}>
          {media ? messages.viewers.retentionLive : messages.viewers.retentionChooseText}
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
      <EmptyState icon="clock" title={messages.viewers.emptyTitle}>
        {messages.viewers.tooOld}
      </EmptyState>
    ) : (
      <ErrorState error={retention.error} onRetry={() => retention.refetch()} />
    )
  }
  const { sessions, curve } = retention.data
  if (sessions === 0 || curve.length === 0) {
    return (
      <EmptyState icon="chart" title={messages.viewers.retentionTitle}>
        {sessions === 0 ? messages.viewers.retentionNone : messages.viewers.retentionUnknown}
      </EmptyState>
    )
  }
  return (
    <div className="stack">
      {keys.data && keys.data.length > 0 && (
        <div className="narrow">
          <SelectField
            label={messages.viewers.retentionBy}
            value={by ?? ''}
            onChange={(event) => setBy(event.target.value || undefined)}
          >
            <option value="">{messages.viewers.retentionAll}</option>
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
