import { useNavigate, useSearch } from '@tanstack/react-router'
import { Suspense, useCallback, useMemo, useState } from 'react'
import { useSession } from '../../api/session.ts'
import { useEnvironment } from '../../app/environment.ts'
import { texts } from '../../texts/texts.ts'
import { Button } from '../../ui/button.tsx'
import { patientLazy } from '../../ui/load-patiently.ts'
import { Page } from '../../ui/page.tsx'
import { Loading } from '../../ui/states.tsx'
import { showError } from '../../ui/toast-list.ts'
import { readVideoSearch, type VideoSearch } from './filters/search-params.ts'
import { VideoLibrary } from './video-library.tsx'
import styles from './videos-view.module.css'

// Not needed to see the videos.
const DeletedVideos = patientLazy(() => import('./deleted-videos.tsx'))
const IngestDialog = patientLazy(() => import('./ingest-dialog.tsx'))

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
      title={search.deleted ? texts.videos.deleted.title : texts.videos.title}
      isFull
      actions={
        <>
          {restoreHours > 0 && (
            <Button
              look="quiet"
              icon={search.deleted ? 'left' : 'trash'}
              onClick={() => onSearch(search.deleted ? {} : { deleted: true }, { replace: false })}
            >
              <span className={styles.label}>
                {search.deleted ? texts.videos.deleted.back : texts.videos.deleted.open}
              </span>
            </Button>
          )}
          <Button icon="link" onClick={() => setIngesting(true)}>
            <span className={styles.label}>{texts.videos.ingest.open}</span>
          </Button>
          <Button look="primary" icon="upload" onClick={upload}>
            {texts.upload.upload}
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
