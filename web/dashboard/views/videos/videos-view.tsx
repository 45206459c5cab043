import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Suspense, useCallback, useMemo, useState } from 'react'
import { useSession } from '../../api/session.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { lazyWithRetry } from '../../ui/load-with-retry.ts'
import { Page } from '../../ui/page.tsx'
import { Loading } from '../../ui/states.tsx'
import { showError } from '../../ui/toast-list.ts'
import { readVideoSearch, type VideoSearch } from './filters/search-params.ts'
import { VideoLibrary } from './video-library.tsx'

// Not needed to see the videos.
const DeletedVideos = lazyWithRetry(() => import('./deleted/deleted-videos.tsx'))
const IngestDialog = lazyWithRetry(() => import('./ingest-dialog.tsx'))

export function VideosView() {
  const environment = useEnvironment()
  const { restoreHours } = useSession()
  // The router adds the parts of the URL that the route has rejected.
  const raw = useSearch({ from: '/$environment/videos' })
  const search = useMemo(() => readVideoSearch(raw), [raw])
  const navigate = useNavigate({ from: '/$environment/videos' })
  const [isIngesting, setIngesting] = useState(false)
  // Each letter that is typed would otherwise be an entry of the history.
  const onSearch = useCallback(
    (next: VideoSearch, { replace = true } = {}) =>
      void navigate({ search: readVideoSearch(next), replace, resetScroll: true }),
    [navigate],
  )
  const upload = () =>
    void import('../../upload/pick-uploads.ts')
      .then(({ pickUploads }) => pickUploads(environment))
      .catch(showError)
  return (
    <Page
      title={search.deleted ? messages.videos.deleted.title : messages.videos.title}
      isFull
      actions={
        <>
          {restoreHours > 0 && (
            <Button
              variant="quiet"
              icon={search.deleted ? 'left' : 'trash'}
              onClick={() => onSearch(search.deleted ? {} : { deleted: true }, { replace: false })}
            >
              <span className="label-if-wide">
                {search.deleted ? messages.videos.deleted.back : messages.videos.deleted.open}
              </span>
            </Button>
          )}
          <Link to="/$environment/videos/imports" params={{ environment }} className={buttonClass()}>
            <Icon name="download" size={16} />
            <span className="label-if-wide">{messages.videos.importLibrary}</span>
          </Link>
          <Button icon="link" onClick={() => setIngesting(true)}>
            <span className="label-if-wide">{messages.videos.ingest.open}</span>
          </Button>
          <Button variant="primary" icon="upload" onClick={upload}>
            {messages.upload.upload}
          </Button>
        </>
      }
    >
      {search.deleted ? (
        <Suspense fallback={<Loading />}>
          <DeletedVideos />
        </Suspense>
      ) : (
        <VideoLibrary search={search} onSearch={onSearch} onUpload={upload} />
      )}
      <Suspense>{isIngesting && <IngestDialog onClose={() => setIngesting(false)} />}</Suspense>
    </Page>
  )
}
