import { useParams } from '@tanstack/react-router'
import { type Environment, isEnvironment } from '../api/client.ts'

const storageKey = 'kinora-environment'

/** The environment of the page, which is part of its URL. */
export function useEnvironment(): Environment {
  const { environment } = useParams({ from: '/$environment' })
  // The route checks it.
  return environment as Environment
}

/** The environment of the last visit. */
export function rememberedEnvironment(): Environment {
  const stored = localStorage.getItem(storageKey) ?? ''
  return isEnvironment(stored) ? stored : 'production'
}

export const rememberEnvironment = (environment: Environment) => localStorage.setItem(storageKey, environment)
