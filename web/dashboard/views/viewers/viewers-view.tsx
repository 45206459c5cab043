import { Suspense } from 'react'
import { messages } from '../../messages/messages.ts'
import { lazyWithRetry } from '../../ui/load-with-retry.ts'
import { Page } from '../../ui/page.tsx'
import { Loading } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { FilterBar } from './filters/filter-bar.tsx'
import { PeriodPicker } from './filters/period-picker.tsx'
import { Overview } from './overview/overview.tsx'
import { useViewersSearch } from './use-viewers-search.ts'
import { tabs, type ViewersSearch } from './viewers-search.ts'

const RetentionTab = lazyWithRetry(() => import('./retention/retention-tab.tsx'))
const MetadataTab = lazyWithRetry(() => import('./metadata/metadata-tab.tsx'))
const SessionsTab = lazyWithRetry(() => import('./sessions/sessions-tab.tsx'))

const contents = {
  overview: Overview,
  retention: RetentionTab,
  metadata: MetadataTab,
  sessions: SessionsTab,
}

export function ViewersView() {
  const { search, change } = useViewersSearch()
  const { tab = 'overview' } = search
  const Content = contents[tab]
  return (
    <Page title={messages.viewers.title} intro={messages.viewers.intro} actions={<PeriodPicker />}>
      <FilterBar />
      <Tabs
        label={messages.viewers.tabsLabel}
        value={tab}
        onChange={(value) => change({ tab: value as ViewersSearch['tab'] })}
        tabs={tabs.map((value) => ({
          value,
          label: messages.viewers.tabs[value],
          content: (
            <Suspense fallback={<Loading />}>
              <Content />
            </Suspense>
          ),
        }))}
      />
    </Page>
  )
}
