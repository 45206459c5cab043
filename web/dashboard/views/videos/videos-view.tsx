import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useMemo, useState } from 'react'
import { useSession } from '../../api/session.ts'
import { useEnvironment } from '../../app/environment.ts'
import { texts } from '../../texts/texts.ts'
import { Button } from '../../ui/button.tsx'
import { Page } from '../../ui/page.tsx'
import { DropZone } from '../../upload/drop-zone.tsx'
import { pickUploads } from '../../upload/upload-command.tsx'
import { DeletedVideos } from './deleted-videos.tsx'
import { IngestDialog } from './ingest-dialog.tsx'
import { readVideoSearch, type VideoSearch } from './search-params.ts'
import { VideoLibrary } from './video-library.tsx'

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
  const upload = () => void pickUploads(environment)
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
              {search.deleted ? texts.videos.deleted.back : texts.videos.deleted.open}
            </Button>
          )}
          <Button icon="link" onClick={() => setIngesting(true)}>
            {texts.videos.ingest.open}
          </Button>
          <Button look="primary" icon="upload" onClick={upload}>
            {texts.upload.upload}
          </Button>
        </>
      }
    >
      {search.deleted ? (
        <DeletedVideos />
      ) : (
        <VideoLibrary search={search} onSearch={onSearch} onUpload={upload} />
      )}
      <DropZone />
      <IngestDialog isOpen={isIngesting} onClose={() => setIngesting(false)} />
    </Page>
  )
}
