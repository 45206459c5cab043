import { useInfiniteQuery } from '@tanstack/react-query'
import { importsQuery } from '../../../api/imports.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { importMessages } from '../../../messages/imports.ts'
import { messages } from '../../../messages/messages.ts'
import { Page } from '../../../ui/page.tsx'
import { PagedList } from '../../../ui/paged-list.tsx'
import { EmptyState } from '../../../ui/states.tsx'
import { ImportTable } from './import-table.tsx'
import { NewImport } from './new-import/new-import.tsx'

/** Imports of whole libraries: a new one, and those before. */
export function ImportsView() {
  const imports = useInfiniteQuery(importsQuery(useEnvironment()))
  return (
    <Page
      title={importMessages.title}
      parents={[{ label: messages.videos.title, to: '/$environment/videos' }]}
      intro={importMessages.intro}
    >
      <NewImport />
      <h2>{importMessages.past}</h2>
      <PagedList
        query={imports}
        empty={
          <EmptyState icon="download" title={importMessages.empty}>
            {importMessages.emptyText}
          </EmptyState>
        }
      >
        {(rows) => <ImportTable imports={rows} />}
      </PagedList>
    </Page>
  )
}
