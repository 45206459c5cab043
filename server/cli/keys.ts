import { isKeyName, keyNameRule } from '../accounts/key-name.ts'
import { command, required } from './command.ts'
import { CommandError, UsageError } from './errors.ts'
import { environment, keyName } from './options.ts'

// Most commands finish faster than the database module loads, so it is imported on demand.
const load = () =>
  Promise.all([import('./with-database.ts'), import('../accounts/keys.ts'), import('../accounts/store.ts')])

export const keysCommands = [
  command({
    name: 'keys create',
    summary: 'Create an API key and show it once',
    operands: [],
    options: { environment: required(environment), name: required(keyName) },
    examples: ['kinora keys create --environment production --name website'],
    json: '`{"id", "environment", "name", "key", "createdAt"}`',
    async run({ options: { environment, name }, output }) {
      checkName(name)
      const [{ withDatabase }, { createKey }] = await load()
      const created = await withDatabase(({ db }) => createKey(db, environment, name, new Date()), {
        mayCreate: true,
      })
      output.print(`${created.key}\nThis is the only time the key is shown.`, created)
    },
  }),
  command({
    name: 'keys list',
    summary: 'List API keys without their values',
    operands: [],
    options: { environment },
    examples: ['kinora keys list', 'kinora keys list --environment sandbox --json'],
    json: 'an array of `{"id", "environment", "name", "createdAt", "revokedAt"}`',
    async run({ options: { environment }, output }) {
      const [{ withDatabase }, , { listKeys }] = await load()
      const rows = await withDatabase(({ db }) => listKeys(db, environment))
      const keys = rows.map(({ id, environment, name, created_at, revoked_at }) => ({
        id,
        environment,
        name,
        createdAt: created_at,
        revokedAt: revoked_at,
      }))
      output.print(keys.length === 0 ? 'There are no keys.' : keys.map(formatKey).join('\n'), keys)
    },
  }),
  command({
    name: 'keys revoke',
    summary: 'Revoke an API key',
    operands: [],
    options: { environment: required(environment), name: required(keyName) },
    examples: ['kinora keys revoke --environment production --name website'],
    json: '`{"id", "environment", "name", "revokedAt"}`',
    async run({ options: { environment, name }, output }) {
      checkName(name)
      const [{ withDatabase }, { revokeKey }] = await load()
      const revoked = await withDatabase(({ db }) => revokeKey(db, environment, name, new Date()))
      if (!revoked)
        throw new CommandError(`The ${environment} environment has no active key named "${name}".`)
      const text = `The key "${name}" of the ${environment} environment no longer works.`
      output.print(text, { id: revoked.id, environment, name, revokedAt: revoked.revoked_at })
    },
  }),
]

function checkName(name: string): void {
  if (!isKeyName(name)) throw new UsageError(`--name ${keyNameRule}.`)
}

type Key = { environment: string; name: string; createdAt: Date; revokedAt: Date | null }

function formatKey({ environment, name, createdAt, revokedAt }: Key): string {
  const state = revokedAt ? `revoked ${revokedAt.toISOString()}` : 'active'
  return `${environment.padEnd(10)}  ${name.padEnd(24)}  created ${createdAt.toISOString()}  ${state}`
}
