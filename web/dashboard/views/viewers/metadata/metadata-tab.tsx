import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { isTooOld, maxPageSize } from '../../../api/analytics.ts'
import { metadataKeysQuery, metadataValuesQuery, type ValueOrder } from '../../../api/viewing-sessions.ts'
import { messages } from '../../../messages/messages.ts'
import { SelectField } from '../../../ui/field.tsx'
import { Pager } from '../../../ui/pager.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { EmptyState, ErrorState, Loading } from '../../../ui/states.tsx'
import { CsvButton } from '../csv-button.tsx'
import { compare, readPrevious } from '../overview/change.ts'
import { useViewersSearch } from '../use-viewers-search.ts'
import { loadMetadata } from './metadata-sheet.ts'
import { ValueTable } from './value-table.tsx'

/** Compares viewers by any key that videos declare. */
export default function MetadataTab() {
  const { environment, search, selections, change } = useViewersSearch()
  const keys = useQuery(metadataKeysQuery(environment, selections.current))
  if (keys.isPending) return <Loading />
  if (!keys.data) {
    return isTooOld(keys.error) ? (
      <EmptyState icon="clock" title={messages.viewers.emptyTitle}>
        {messages.viewers.tooOld}
      </EmptyState>
    ) : (
      <ErrorState error={keys.error} onRetry={() => keys.refetch()} />
    )
  }
  const [first] = keys.data
  if (!first) {
    return (
      <EmptyState icon="tag" title={messages.viewers.metadataNone}>
        {messages.viewers.metadataNoneText}
      </EmptyState>
    )
  }
  const key = search.key ?? first.key
  const isListed = keys.data.some((each) => each.key === key)
  return (
    <div className="stack">
      <div className="narrow">
        <SelectField
          label={messages.viewers.metadataKey}
          value={key}
          onChange={(event) => change({ key: event.target.value })}
        >
          {!isListed && <option value={key}>{key}</option>}
          {keys.data.map((each) => (
            <option key={each.key} value={each.key}>
              {each.key}
            </option>
          ))}
        </SelectField>
      </div>
      <Values key={key} name={key} />
    </div>
  )
}

function Values({ name }: { name: string }) {
  const { environment, selections } = useViewersSearch()
  const [sortBy, setSortBy] = useState<ValueOrder>('plays')
  const [currentPage, setPage] = useState(1)
  const values = useQuery({
    ...metadataValuesQuery(environment, selections.current, { key: name, sortBy, currentPage }),
    placeholderData: (previous) => previous,
  })
  const before = useQuery(
    metadataValuesQuery(environment, selections.previous, {
      key: name,
      sortBy,
      currentPage: 1,
      pageSize: maxPageSize,
    }),
  )
  const previous =
    before.data &&
    readPrevious(before.data.data, before.data.pagination.itemsTotal, (row) => [row.value, row[sortBy] ?? 0])
  const rows = values.data?.data ?? []
  return (
    <Panel
      title={<bdi>{name}</bdi>}
      actions={
        <CsvButton name={name} load={() => loadMetadata(environment, selections, { key: name, sortBy })} />
      }
    >
      {values.isPending ? (
        <Loading />
      ) : !values.data ? (
        <ErrorState error={values.error} onRetry={() => values.refetch()} />
      ) : rows.length === 0 ? (
        <p className="secondary">{messages.viewers.nothing}</p>
      ) : (
        <ValueTable
          name={name}
          rows={rows}
          sortBy={sortBy}
          changeOf={previous && (({ value, [sortBy]: now }) => compare(previous, value, now))}
          onSort={(order) => {
            setSortBy(order)
            setPage(1)
          }}
        />
      )}
      <Pager page={currentPage} pagination={values.data?.pagination} onChange={setPage} />
    </Panel>
  )
}
