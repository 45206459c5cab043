import { spawnSync } from 'node:child_process'

// Docker needs its server. The others build without one; chroot works where containers cannot run. Only the format of
// Docker has health checks.
const withoutServer = ['--isolation', 'chroot', '--format', 'docker']
const engines = [
  { name: 'docker', check: ['version'], build: ['build'] },
  { name: 'podman', check: ['--version'], build: ['build', ...withoutServer] },
  { name: 'buildah', check: ['--version'], build: ['build', ...withoutServer] },
]

// The program that builds images on this machine, with its arguments. Undefined if there is none.
export function findEngine() {
  return engines.find(({ name, check }) => spawnSync(name, check, { stdio: 'ignore' }).status === 0)
}
