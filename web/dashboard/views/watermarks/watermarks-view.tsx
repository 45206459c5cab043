import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback, useRef } from 'react'
import { watermarksQuery } from '../../api/watermarks.ts'
import { useCommand } from '../../app/commands.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { useListKeys } from '../../ui/list-keys.ts'
import { Page } from '../../ui/page.tsx'
import { PagedList } from '../../ui/paged-list.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { UploadArea } from './upload-area.tsx'
import { WatermarkCard } from './watermark-card.tsx'
import styles from './watermarks-view.module.css'

export function WatermarksView() {
  const watermarks = useInfiniteQuery(watermarksQuery(useEnvironment()))
  const input = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLUListElement>(null)
  useListKeys(list, { isMain: true })
  const run = useCallback(() => input.current?.click(), [])
  useCommand({ id: 'upload-watermark', label: messages.watermarks.upload, run })
  return (
    <Page
      title={messages.watermarks.title}
      intro={messages.watermarks.intro}
      actions={
        <Button variant="primary" icon="upload" onClick={run}>
          {messages.watermarks.upload}
        </Button>
      }
    >
      <UploadArea input={input} />
      <PagedList
        query={watermarks}
        empty={
          <EmptyState icon="watermark" title={messages.watermarks.emptyTitle}>
            {messages.watermarks.empty}
          </EmptyState>
        }
      >
        {(rows) => (
          <ul ref={list} className={styles.grid}>
            {rows.map((each) => (
              <WatermarkCard key={each.watermarkId} watermark={each} />
            ))}
          </ul>
        )}
      </PagedList>
    </Page>
  )
}
