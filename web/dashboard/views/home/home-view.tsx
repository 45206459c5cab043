import { Link } from '@tanstack/react-router'
import { type Ref, Suspense, useRef } from 'react'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { lazyWithRetry } from '../../ui/load-with-retry.ts'
import { Page } from '../../ui/page.tsx'
import { ErrorState, Loading } from '../../ui/states.tsx'
import { showError } from '../../ui/toast-list.ts'
import { useFirstSteps } from './use-first-steps.ts'
import { useHome } from './use-home.ts'

const Overview = lazyWithRetry(() => import('./overview.tsx'))
const GetStarted = lazyWithRetry(() => import('./get-started.tsx'))
const AddVideo = lazyWithRetry(() => import('./add-video.tsx'))

/** The first steps, until they are done, and what is going on. */
export function HomeView() {
  const home = useHome()
  const first = useFirstSteps(home)
  const upload = useRef<HTMLButtonElement>(null)
  const newest = home.newest.data
  return (
    <Page title={messages.home.title} isFull actions={<FirstActions uploadButton={upload} />}>
      {home.newest.error && !newest ? (
        <ErrorState error={home.newest.error} onRetry={home.retry} />
      ) : !newest || home.isPending || first.isPending ? (
        <Loading />
      ) : (
        <Suspense fallback={<Loading />}>
          <div className="stack">
            {first.isOpen ? (
              <GetStarted
                steps={first.steps}
                keys={first.keys}
                newest={newest.data.find(({ status }) => status.playable) ?? newest.data[0]}
                onClose={() => {
                  first.close()
                  upload.current?.focus()
                }}
              />
            ) : (
              newest.data.length === 0 && <AddVideo />
            )}
            {(newest.data.length > 0 || !first.isOpen) && (
              // The steps stay as they are while it is loaded.
              <Suspense fallback={!first.isOpen && <Loading />}>
                <Overview home={home} />
              </Suspense>
            )}
          </div>
        </Suspense>
      )}
    </Page>
  )
}

function FirstActions({ uploadButton }: { uploadButton: Ref<HTMLButtonElement> }) {
  const environment = useEnvironment()
  const upload = () =>
    void import('../../upload/pick-uploads.ts')
      .then(({ pickUploads }) => pickUploads(environment))
      .catch(showError)
  return (
    <>
      <Link to="/$environment/live" params={{ environment }} className={buttonClass()}>
        <Icon name="live" size={16} />
        {messages.home.goLive}
      </Link>
      <Button ref={uploadButton} variant="primary" icon="upload" onClick={upload}>
        {messages.upload.upload}
      </Button>
    </>
  )
}
