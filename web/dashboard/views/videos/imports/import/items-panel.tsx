import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { type Import, type ItemState, importItemsQuery } from '../../../../api/imports.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { importMessages as t } from '../../../../messages/imports.ts'
import { Pager } from '../../../../ui/pager.tsx'
import { Panel } from '../../../../ui/panel.tsx'
import { EmptyState, ErrorState, Loading } from '../../../../ui/states.tsx'
import { countObjects } from '../totals.ts'
import { ItemTable } from './item-table.tsx'
import styles from './items-panel.module.css'

const states = Object.keys(t.itemStates) as ItemState[]

/** What is of interest before somebody chooses. */
function initialState({ state, dryRun, items }: Import): ItemState | 'all' {
  if (state === 'running' && !dryRun) return 'fetching'
  return state !== 'ready' && items.failed > 0 ? 'failed' : 'all'
}

/** Every object of an import with its state. */
export function ItemsPanel({ run }: { run: Import }) {
  const [chosen, setChosen] = useState<ItemState | 'all'>()
  const [page, setPage] = useState(1)
  const shown = chosen ?? initialState(run)
  const state = shown === 'all' ? undefined : shown
  const items = useQuery(importItemsQuery(useEnvironment(), run, { state, page }))
  const choose = (value: string) => {
    setChosen(states.find((each) => each === value) ?? 'all')
    setPage(1)
  }
  // The last object of the page has another state now.
  if (items.data?.data.length === 0 && page > 1) setPage(1)
  return (
    <Panel title={t.items} actions={<StateFilter value={shown} items={run.items} onChange={choose} />}>
      {items.isPending ? (
        <Loading />
      ) : !items.data ? (
        <ErrorState error={items.error} onRetry={() => items.refetch()} />
      ) : items.data.data.length === 0 ? (
        <EmptyState icon="list" title={t.noItems}>
          {state && t.noItemsInState}
        </EmptyState>
      ) : (
        <ItemTable items={items.data.data} />
      )}
      <Pager page={page} pagination={items.data?.pagination} onChange={setPage} />
    </Panel>
  )
}

type StateFilterProps = { value: ItemState | 'all'; items: Import['items']; onChange(value: string): void }

function StateFilter({ value, items, onChange }: StateFilterProps) {
  const id = useId()
  return (
    <div className={styles.filter}>
      <label htmlFor={id}>{t.filter}</label>
      <select id={id} className="select" value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="all">{t.all(countObjects(items).total)}</option>
        {states.map((each) => (
          <option key={each} value={each}>
            {t.inState(t.itemStates[each], items[each])}
          </option>
        ))}
      </select>
    </div>
  )
}
