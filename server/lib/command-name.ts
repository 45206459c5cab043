import { basename } from 'node:path'

/**
 * How the user calls the `kinora` command, so that hints can be pasted: by npx, in a checkout, or installed. The command of
 * a container image is installed by a link to a folder that is not in node_modules.
 */
export function commandName(
  env: Record<string, string | undefined>,
  moduleUrl = import.meta.url,
  program = process.argv[1] ?? '',
): string {
  if (env.npm_command === 'exec') return 'npx kinora'
  const isInstalled = moduleUrl.includes('/node_modules/') || basename(program) === 'kinora'
  if (!isInstalled) return 'npm run kinora --'
  return env.npm_command === undefined ? 'kinora' : 'npx kinora'
}
