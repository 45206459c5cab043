import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { settings } from '../../server/read-config.ts'
import { root } from '../support/harness.ts'

const file = join(root, 'deploy/kinora.service')
const unit = readFileSync(file, 'utf8')
const valuesOf = (name: string) =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value!)
const guide = readFileSync(join(root, 'docs/deploy.md'), 'utf8')
const lacksSystemd = spawnSync('systemd-analyze', ['--version']).error ? 'systemd is not installed' : false

test('the systemd unit has settings and files that exist, and those of docs/deploy.md', () => {
  const names = valuesOf('Environment').map((value) => value.split('=')[0]!)
  for (const name of names.filter((each) => each.startsWith('KINORA_'))) assert.ok(name in settings, name)
  for (const [, name = ''] of guide.matchAll(/^(KINORA_\w+)=/gm)) assert.ok(name in settings, name)
  const [command = ''] = valuesOf('ExecStart')
  const [, program = ''] = / node \/opt\/kinora\/(\S+) start$/.exec(command) ?? []
  assert.ok(existsSync(join(root, program)), command)
  for (const path of ['/opt/kinora', ...valuesOf('EnvironmentFile')]) assert.ok(guide.includes(path), path)
  assert.ok(guide.includes(`useradd --system --home-dir /var/lib/${valuesOf('StateDirectory')[0]}`))
  // Kinora exits after 30 seconds at the latest.
  assert.ok(Number.parseInt(valuesOf('TimeoutStopSec')[0] ?? '', 10) > 30)
})

test('systemd rates the exposure of the unit below 2.0', { skip: lacksSystemd }, (t) => {
  const args = ['security', '--offline=true', '--threshold=19', '--no-pager', file]
  const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
  // Versions before 250 cannot read a file.
  if (/unrecognized option/.test(stderr)) return t.skip('systemd is too old')
  assert.equal(status, 0, stdout + stderr)
  const [, level] = /exposure level for kinora\.service: ([\d.]+)/.exec(stdout) ?? []
  assert.ok(guide.includes(`exposure ${level} of 10`), `docs/deploy.md does not say ${level}`)
})
