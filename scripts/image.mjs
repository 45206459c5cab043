// Builds the container image and prints the size of its layers: npm run image. Arguments are passed to the engine:
// `npm run image -- --platform linux/arm64`.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findEngine } from './image/engine.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))
const engine = findEngine()
if (engine) {
  const tags = ['latest', version].flatMap((tag) => ['--tag', `kinora:${tag}`])
  const label = ['--label', `org.opencontainers.image.version=${version}`]
  const built = run(engine.name, [...engine.build, ...label, ...tags, ...process.argv.slice(2), '.'])
  if (built !== 0) process.exitCode = 1
  else if (engine.name === 'buildah') run('buildah', ['images', 'kinora'])
  else run(engine.name, ['history', '--format', '{{.Size}}\t{{.CreatedBy}}', `kinora:${version}`])
} else {
  console.error('No program can build the image: start Docker, or install podman or buildah.')
  process.exitCode = 1
}

function run(command, args) {
  return spawnSync(command, args, { cwd: root, stdio: 'inherit' }).status
}
