import assert from 'node:assert/strict'
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { freePort } from '../../bench/nginx.ts'
import { commands } from '../../server/cli/commands.ts'
import { parse } from '../../server/cli/parse.ts'
import { launchBrowser, skip } from '../support/browser/browser.ts'
import { openHtml, runInPage } from '../support/docs/docs-in-browser.ts'
import { checkJson } from '../support/docs/docs-json.ts'
import { type Place, Reader, runCommands, runPython, runScript } from '../support/docs/docs-reader.ts'
import { type Block, readBlocks } from '../support/docs/markdown.ts'
import { kinora, root, temporaryFolder } from '../support/harness.ts'
import { ffmpeg } from '../support/media/media.ts'
import { uploadVideo, waitForEnds } from '../support/videos.ts'

// Follows docs/*.md: runs their commands and snippets as they are, except for keys, ids, hosts and ports, in one service.
// Readers continue from the README, so they have an API key, a video that plays, and files of their own.

let place: Place
const ends: (() => unknown)[] = []

before(async () => {
  const service = await kinora(
    { after: (end) => ends.push(end) },
    { KINORA_ALLOW_PRIVATE_NETWORKS: 'true', KINORA_TRANSCRIPTION_URL: 'http://127.0.0.1:8000/inference' },
  )
  const folder = await temporaryFolder({ after })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const film = join(folder, 'film.mp4')
  // Without audio, as some pages upload it again.
  await ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=160x120:r=5', '-t', '1', '-pix_fmt', 'yuv420p', film)
  await ffmpeg('-f', 'lavfi', '-i', 'color=size=100x50', '-frames:v', '1', join(folder, 'logo.png'))
  await writeFile(join(folder, 'film.srt'), '1\n00:00:00,000 --> 00:00:01,000\nHello\n')
  const videoId = await uploadVideo(service, film)
  await waitForEnds(service.database, videoId)
  place = { service, folder, videoId, port: await freePort(), browser: await launchBrowser() }
})
after(async () => {
  await place?.browser?.close()
  for (const end of ends) await end()
})

const isInPage = ({ language, note }: Block) => language === 'html' || note === 'in a page'

/** The reference of commands is written from the table by which the program reads its arguments. */
function checkUsage({ text, place }: Block): void {
  for (const line of text.trim().split('\n')) {
    const [, words = ''] = /\bkinora ([^)<>]*)/.exec(line) ?? []
    assert.ok(words, `${place}: ${line}`)
    const args = [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)
    assert.equal(parse(commands, args).kind, 'run', `${place}: ${line}`)
  }
}

/** Runs a block. `output` is what the commands before it have printed. */
async function follow(reader: Reader, code: Block[], index: number, output: string): Promise<string> {
  const block = code[index]!
  const previous = code[index - 1]
  const isResponse = previous?.language === 'sh' && previous.section === block.section
  switch (block.language) {
    case 'sh':
      return runCommands(reader, block)
    case 'json':
      await checkJson(reader, block, isResponse ? previous : undefined, output)
      break
    case 'js':
      await (isInPage(block) ? runInPage(reader, block) : runScript(reader, block, code.slice(index + 1)))
      break
    case 'html':
      await openHtml(reader, block)
      break
    case 'python':
      await runPython(reader, block)
      break
    default:
      assert.fail(`${block.place}: nothing runs ${block.language}. Say why in a comment above the block.`)
  }
  return output
}

/** Text without a language is no code, and a comment says why a block cannot be run. */
const isRun = ({ language, note }: Block) => language !== '' && !note.startsWith('not run: ')
const isUsage = ({ section }: Block) => section.startsWith('`kinora ')

for (const file of (await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md')).sort()) {
  const blocks = readBlocks(`docs/${file}`, await readFile(join(root, 'docs', file), 'utf8')).filter(isRun)
  if (blocks.length === 0) continue
  test(`the examples of docs/${file} work`, { skip: blocks.some(isInPage) && skip }, async () => {
    for (const block of blocks.filter(isUsage)) checkUsage(block)
    const code = blocks.filter((block) => !isUsage(block))
    const reader = new Reader(place)
    let output = ''
    try {
      for (const index of code.keys()) output = await follow(reader, code, index, output)
    } finally {
      await reader.close()
    }
  })
}
