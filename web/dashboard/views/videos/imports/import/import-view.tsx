import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { type Import, importQuery } from '../../../../api/imports.ts'
import { isMissing } from '../../../../api/problem.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { importMessages } from '../../../../messages/imports.ts'
import { messages } from '../../../../messages/messages.ts'
import { Page } from '../../../../ui/page.tsx'
import { ErrorState, Loading } from '../../../../ui/states.tsx'
import { RunState } from '../run-state.tsx'
import { ImportActions } from './import-actions.tsx'
import { ItemsPanel } from './items-panel.tsx'
import { SummaryPanel } from './summary-panel.tsx'

/** The preview, the progress and the report of one import. */
export function ImportView() {
  const environment = useEnvironment()
  const { importId } = useParams({ from: '/$environment/videos/imports/$importId' })
  const run = useQuery(importQuery(environment, importId))
  if (run.data && !isMissing(run.error)) return <LoadedImport key={importId} run={run.data} />
  return (
    <Page title={importMessages.title}>
      {run.error ? <ErrorState error={run.error} onRetry={() => run.refetch()} /> : <Loading />}
    </Page>
  )
}

function LoadedImport({ run }: { run: Import }) {
  return (
    <Page
      title={importMessages.from(importMessages.services[run.service])}
      parents={[
        { label: messages.videos.title, to: '/$environment/videos' },
        { label: importMessages.title, to: '/$environment/videos/imports' },
      ]}
      intro={
        <span className="facts">
          <RunState run={run} />
          <bdi>{run.account}</bdi>
        </span>
      }
      actions={<ImportActions run={run} />}
    >
      <SummaryPanel run={run} />
      <ItemsPanel run={run} />
    </Page>
  )
}
