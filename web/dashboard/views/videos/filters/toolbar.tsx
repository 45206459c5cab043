import { Suspense } from 'react'
import { videoStates } from '../../../api/videos.ts'
import { messages } from '../../../messages/messages.ts'
import { Button, IconButton } from '../../../ui/button.tsx'
import { classNames } from '../../../ui/class-names.ts'
import { lazyWithRetry } from '../../../ui/load-with-retry.ts'
import { type Layout, layouts } from '../list/layout.ts'
import { SearchField } from './search-field.tsx'
import { type Sort, sorts, type VideoSearch } from './search-params.ts'
import styles from './toolbar.module.css'

const FilterPopover = lazyWithRetry(() => import('./filter-popover.tsx'))

type ToolbarProps = {
  search: VideoSearch
  onSearch(next: VideoSearch): void
  layout: Layout
  onLayout(layout: Layout): void
}

/** Search, filters, order and layout. */
export function Toolbar({ search, onSearch, layout, onLayout }: ToolbarProps) {
  const t = messages.videos
  return (
    <search className={styles.toolbar}>
      <SearchField value={search.q ?? ''} onChange={(q) => onSearch(without({ ...search, q }))} />
      <div className={styles.filters}>
        <Choice
          label={t.visibility}
          value={search.visibility ?? ''}
          choices={[
            ['', t.anyVisibility],
            ['public', t.public],
            ['private', t.private],
          ]}
          onChange={(visibility) => onSearch(without({ ...search, visibility }))}
        />
        <Choice
          label={t.state}
          value={search.state ?? ''}
          choices={[['', t.anyState], ...videoStates.map((each): [string, string] => [each, t.states[each]])]}
          onChange={(state) => onSearch(without({ ...search, state }))}
        />
        <Suspense
          fallback={
            <Button icon="filter" className={styles.filterButton} disabled>
              <span>{t.moreFilters}</span>
            </Button>
          }
        >
          <FilterPopover search={search} onSearch={onSearch} />
        </Suspense>
        <span className={styles.space} />
        <Choice
          label={t.sort}
          value={search.sort ?? 'newest'}
          choices={sorts.map((each: Sort): [string, string] => [each, t.sorts[each]])}
          onChange={(sort) => onSearch(without({ ...search, sort }))}
        />
        <fieldset className={styles.layouts}>
          <legend className="visually-hidden">{t.layout}</legend>
          {layouts.map((each) => (
            <IconButton
              key={each}
              icon={each}
              label={t.layouts[each]}
              aria-pressed={each === layout}
              onClick={() => onLayout(each)}
            />
          ))}
        </fieldset>
      </div>
    </search>
  )
}

/** The route checks every part, and leaves out what is empty. */
const without = (search: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(search).filter(([, value]) => value !== '')) as VideoSearch

type ChoiceProps = {
  label: string
  value: string
  choices: [string, string][]
  onChange(value: string): void
}

function Choice({ label, value, choices, onChange }: ChoiceProps) {
  return (
    <select
      className={classNames('select', styles.select)}
      aria-label={label}
      value={value}
      data-chosen={value !== choices[0]![0]}
      onChange={(event) => onChange(event.target.value)}
    >
      {choices.map(([each, name]) => (
        <option key={each} value={each}>
          {name}
        </option>
      ))}
    </select>
  )
}
