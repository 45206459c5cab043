import { useRouter, useRouterState } from '@tanstack/react-router'
import { environments } from '../api/client.ts'
import { texts } from '../texts/texts.ts'
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
      <legend className="visually-hidden">{texts.environments.label}</legend>
      {environments.map((environment) => (
        <label key={environment} className={styles.environment} data-environment={environment}>
          <input
            type="radio"
            name="environment"
            className="visually-hidden"
            checked={environment === current}
            onChange={() => router.history.push(`/dashboard/${environment}${section ? `/${section}` : ''}`)}
          />
          {texts.environments[environment]}
        </label>
      ))}
    </fieldset>
  )
}
