/**
 * What child processes inherit: where programs and libraries are, and where temporary files go. Everything else, the
 * keys and passwords among the settings above all, is none of their business. Messages are in English.
 */
export function childEnvironment(environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const isPassedOn = (name: string) => passedOn.includes(name) || name.startsWith('NIX_LD')
  const kept = Object.entries(environment).filter(([name]) => isPassedOn(name))
  return { ...Object.fromEntries(kept), LC_ALL: 'C' }
}

const passedOn = ['PATH', 'LD_LIBRARY_PATH', 'TMPDIR']
