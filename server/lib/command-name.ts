/** How the user calls the `kinora` command, so that hints can be pasted: by npx, in a checkout, or installed. */
export function commandName(env: Record<string, string | undefined>, moduleUrl = import.meta.url): string {
  if (env.npm_command === 'exec') return 'npx kinora'
  if (!moduleUrl.includes('/node_modules/')) return 'npm run kinora --'
  return env.npm_command === undefined ? 'kinora' : 'npx kinora'
}
