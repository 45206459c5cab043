import { useQuery } from '@tanstack/react-query'
import { systemQuery } from '../../api/system.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Page } from '../../ui/page.tsx'
import { ErrorState, Loading } from '../../ui/states.tsx'
import { EncodingPanel } from './encoding-panel.tsx'
import { FailuresPanel } from './failures-panel.tsx'
import { HealthPanel } from './health-panel.tsx'
import { ProcessesPanel } from './processes-panel.tsx'
import { SafetyPanel } from './safety-panel.tsx'
import { SettingsPanel } from './settings-panel.tsx'
import { StoragePanel } from './storage-panel.tsx'
import styles from './system-view.module.css'
import { WarningsPanel } from './warnings-panel.tsx'

export function SystemView() {
  const system = useQuery({
    ...systemQuery(useEnvironment()),
    // Nothing announces the result of checks.
    refetchInterval: ({ state }) => (state.data && state.data.diagnosis?.isRunning !== false ? 2_000 : false),
  })
  return (
    <Page title={messages.system.title} intro={messages.system.intro}>
      {system.isPending ? (
        <Loading />
      ) : !system.data ? (
        <ErrorState error={system.error} onRetry={() => system.refetch()} />
      ) : (
        <>
          <WarningsPanel diagnosis={system.data.diagnosis} />
          <div className={styles.panels}>
            <EncodingPanel system={system.data} />
            <StoragePanel system={system.data} />
            <HealthPanel system={system.data} />
            <SafetyPanel system={system.data} />
          </div>
          <ProcessesPanel processes={system.data.processes} />
          <FailuresPanel failures={system.data.failures} />
          <SettingsPanel settings={system.data.settings} />
        </>
      )}
    </Page>
  )
}
