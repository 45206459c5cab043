import { useRouter, useRouterState } from '@tanstack/react-router'
import { environments } from '../api/client.ts'
import { messages } from '../messages/messages.ts'
import { useEnvironment } from './environment.ts'
import styles from './shell.module.css'

type Place = { pathname: string; search: { tab?: string } }

/** The same section of the other environment. What one environment contains never exists in the other. */
function sectionOf({ pathname, search: { tab } }: Place): string {
  const [, section = '', item] = /^\/[^/]+(\/[^/]+)(\/.)?/.exec(pathname) ?? []
  return section + (tab && !item ? `?tab=${encodeURIComponent(tab)}` : '')
}

export function EnvironmentSwitch() {
  const current = useEnvironment()
  const router = useRouter()
  const section = useRouterState({ select: ({ location }) => sectionOf(location as Place) })
  return (
    <fieldset className={styles.environments}>
      <legend className="visually-hidden">{messages.environments.label}</legend>
      {environments.map((environment) => (
        <label key={environment} className={styles.environment} data-environment={environment}>
          <input
            type="radio"
            name="environment"
            className="visually-hidden"
            checked={environment === current}
            onChange={() => router.history.push(`/dashboard/${environment}${section}`)}
          />
          {messages.environments[environment]}
        </label>
      ))}
    </fieldset>
  )
}
