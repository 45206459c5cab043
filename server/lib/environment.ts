/**
 * The environment of child processes: where to find programs and libraries, and where to put temporary files. All
 * other variables are left out, because they include API keys and passwords. Messages are in English.
 */
export function childEnvironment(environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const isInherited = (name: string) => inherited.includes(name) || name.startsWith('NIX_LD')
  const kept = Object.entries(environment).filter(([name]) => isInherited(name))
  return { ...Object.fromEntries(kept), LC_ALL: 'C' }
}

const inherited = ['PATH', 'LD_LIBRARY_PATH', 'TMPDIR']
