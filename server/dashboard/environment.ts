import { type Environment, environments } from '../environments.ts'
import { notFound } from '../lib/errors.ts'

/** The environment in the URL of a request. */
export function environmentOf({ environment }: { environment: string }): Environment {
  const found = environments.find((name) => name === environment)
  if (!found) throw notFound('environment')
  return found
}
