import { useRouter, useRouterState } from '@tanstack/react-router'
import { environments } from '../api/client.ts'
import { messages } from '../messages/messages.ts'
import { useEnvironment } from './environment.ts'
import styles from './shell.module.css'

/** The same section of the other environment. What one environment contains never exists in the other. */
const sectionOf = (path: string) => /^\/[^/]+\/([^/]+)/.exec(path)?.[1]

export function EnvironmentSwitch() {
  const current = useEnvironment()
  const router = useRouter()
  const section = sectionOf(useRouterState({ select: ({ location }) => location.pathname }))
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
            onChange={() => router.history.push(`/dashboard/${environment}${section ? `/${section}` : ''}`)}
          />
          {messages.environments[environment]}
        </label>
      ))}
    </fieldset>
  )
}
