import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commands } from './commands.ts'
import { UsageError } from './errors.ts'
import { parse } from './parse.ts'

/** The name of the command, its operands, and the options that are set. */
function call(...args: string[]) {
  const parsed = parse(commands, args)
  assert.equal(parsed.kind, 'run')
  if (parsed.kind !== 'run') return []
  const { command, operands, options } = parsed
  return [command.name, operands, Object.fromEntries(Object.entries(options).filter(([, value]) => value))]
}

test('options can be anywhere, in long, short and inline form', () => {
  const expected = ['upload', ['a.mp4', 'b.mp4'], { title: 'x', watch: true }]
  for (const line of [
    'upload a.mp4 b.mp4 --title x --watch',
    '--title=x -w upload a.mp4 b.mp4',
    'upload -wt x a.mp4 -- b.mp4',
    'upload --title y --title x a.mp4 -w b.mp4',
  ])
    assert.deepEqual(call(...line.split(' ')), expected, line)
  assert.deepEqual(call('upload', '--title=-x-', '--', '--odd.mp4'), [
    'upload',
    ['--odd.mp4'],
    { title: '-x-' },
  ])
  assert.deepEqual(call('upload', '--title=', 'a')[0], 'upload')
})

test('an operand in brackets is optional', () => {
  assert.deepEqual(call('live', 'publish', '-s', 'li1'), ['live publish', [], { stream: 'li1' }])
  assert.deepEqual(call('live', 'publish', 'a.mp4'), ['live publish', ['a.mp4'], {}])
})

test('a wrong call is explained in one sentence', () => {
  const cases: [string, RegExp][] = [
    ['dance', /^There is no command "dance"\.$/],
    ['toString', /There is no command "toString"/],
    ['help dance', /There is no command "dance"/],
    ['videos dance --help', /There is no command "videos dance"\. Subcommands of "videos": list, /],
    ['videos lis --help', /^There is no command "videos lis"\. Did you mean "videos list"\?$/],
    ['vidoes list', /^There is no command "vidoes"\. Did you mean "videos"\?$/],
    ['--color', /There is no option --color\. Begin with a command\./],
    ['upload a --color', /"upload" has no option --color\./],
    ['upload a --constructor', /"upload" has no option --constructor\./],
    ['upload a --title', /--title needs a value: --title TITLE\./],
    ['upload a --title --watch', /--title needs a value/],
    ['upload a --watch=yes', /--watch does not take a value/],
    ['keys list -e mars', /-e must be production or sandbox, not "mars"/],
    ['keys create -n x', /--environment is required: the environment/],
    ['videos list all', /"all" is an unexpected argument: videos list/],
    ['live publish a b', /"b" is an unexpected argument: live publish \[FILE\]/],
    ['captions add film.vtt -l en', /^VIDEO is missing: captions add FILE VIDEO$/],
  ]
  for (const [line, expected] of cases) {
    assert.throws(
      () => parse(commands, line.split(' ')),
      (error) => error instanceof UsageError && expected.test(error.message),
      line,
    )
  }
})

test('help is found for all commands, a group and one command', () => {
  const words = (line: string) => parse(commands, line.split(' ').filter(Boolean))
  assert.deepEqual(words(''), { kind: 'help', words: [] })
  assert.deepEqual(words('--json'), { kind: 'help', words: [] })
  assert.deepEqual(words('videos --help'), { kind: 'help', words: ['videos'] })
  assert.deepEqual(words('help videos list'), { kind: 'help', words: ['videos', 'list'] })
  assert.deepEqual(words('upload a.mp4 --nonsense -h'), { kind: 'help', words: ['upload'] })
  assert.deepEqual(words('--version'), { kind: 'version' })
})
