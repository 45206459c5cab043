import { spawnSync } from 'node:child_process'

const programs = { ip: ['-V'], nsenter: ['-V'], setpriv: ['--version'], unshare: ['-V'] }

/** Why machines cannot be created here, or false. */
export const lacksMachines: string | false = reason() ?? false

function reason(): string | undefined {
  if (process.platform !== 'linux') return 'they need Linux'
  if (process.getuid?.() !== 0) return 'they need root'
  const missing = Object.entries(programs).filter(([name, args]) => spawnSync(name, args).error)
  if (missing.length > 0)
    return `programs are missing: ${missing.map(([name]) => name).join(', ')} (packages iproute2 and util-linux)`
  // A container may run as root and still lack the capability.
  const tried = spawnSync('unshare', [
    '--net',
    '--pid',
    '--mount',
    '--uts',
    '--ipc',
    '--fork',
    '--mount-proc',
    'true',
  ])
  return tried.status === 0 ? undefined : 'this root user must not create namespaces'
}
