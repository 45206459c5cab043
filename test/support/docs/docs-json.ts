import assert from 'node:assert/strict'
import { call, waitFor } from '../harness.ts'
import { type Reader, runCommands } from './docs-reader.ts'
import type { Block } from './markdown.ts'

/** What a comment above an example may say, if the example is not the output of the commands before it. */
const notes = { body: 'body of: ', answer: 'answer to: ', event: 'event: ' }

const parseLast = (output: string) => JSON.parse(output.trim().split('\n').at(-1) ?? '')

/** An example is complete: it has the fields that the service sends, with values of the same types. */
function checkExample(reader: Reader, { text, place }: Block, real: unknown): void {
  const example = JSON.parse(text)
  assert.deepEqual(compareShapes(example, real), [], place)
  for (const [shown, own] of pairTexts(example, real))
    if (/^\w{20,}$/.test(shown)) reader.replaced.set(shown, own)
}

/** Checks an example. `commands` is the block whose output it shows. */
export async function checkJson(
  reader: Reader,
  block: Block,
  commands: Block | undefined,
  output: string,
): Promise<void> {
  const { note, text, place } = block
  const { service } = reader.place
  if (note.startsWith(notes.answer) || note.startsWith(notes.body)) {
    const [method = '', path = '', json] = note.slice(note.indexOf(':') + 2).split(/ (?![^{]*\})/)
    const sent = JSON.parse(json ?? text)
    const { status, body } = await call(service.url + path, { method, json: sent })
    if (json !== undefined) checkExample(reader, block, body)
    else assert.ok(status < 300, `${place}: ${JSON.stringify(body)}`)
  } else if (note.startsWith(notes.event)) {
    const { body } = await call(`${service.url}/events?type=${note.slice(notes.event.length)}&pageSize=1`)
    checkExample(reader, block, body.data[0].payload)
  } else if (commands && isRead(commands)) {
    // What a player reports arrives later.
    let latest = output
    await waitFor(async () => {
      const isEmpty = parseLast(latest).data?.length === 0
      if (isEmpty) latest = await runCommands(reader, commands)
      return !isEmpty
    })
    checkExample(reader, block, parseLast(latest))
  } else if (commands) checkExample(reader, block, parseLast(output))
  else for (const line of text.trim().startsWith('{\n') ? [text] : text.trim().split('\n')) JSON.parse(line)
}

const isRead = ({ text }: Block) => !/ -(d|X|F) /.test(text)

/** Differences between an example in the docs and the real value: fields that one of them lacks, and other types. */
function compareShapes(example: unknown, real: unknown, path = ''): string[] {
  // Null stands for a value that is unknown or absent at that time.
  if (example === null || real === null) return []
  if (Array.isArray(example) && Array.isArray(real)) {
    // A list of results has to contain one, so that its fields are compared.
    if (real.length === 0) return path === '.data' && example.length > 0 ? ['.data is empty'] : []
    return example.flatMap((each, i) =>
      compareShapes(each, real[Math.min(i, real.length - 1)], `${path}[${i}]`),
    )
  }
  if (isObject(example) && isObject(real)) {
    const names = [...new Set([...Object.keys(example), ...Object.keys(real)])]
    return names.flatMap((name) => {
      if (!(name in real)) return [`${path}.${name} is only in the docs`]
      if (!(name in example)) return [`${path}.${name} is not in the docs`]
      return compareShapes(example[name], real[name], `${path}.${name}`)
    })
  }
  return typeof example === typeof real && Array.isArray(example) === Array.isArray(real)
    ? []
    : [`${path}: ${JSON.stringify(example)} and ${JSON.stringify(real)}`]
}

/** The texts of an example with the real texts that stand in their places, such as ids and secrets. */
function pairTexts(example: unknown, real: unknown): [example: string, real: string][] {
  if (typeof example === 'string' && typeof real === 'string') return [[example, real]]
  if (!isObject(example) || !isObject(real)) return []
  return Object.entries(example).flatMap(([name, value]) => pairTexts(value, real[name]))
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
