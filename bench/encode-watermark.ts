import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { rounds } from './encode.ts'
import { childrenCpu, encodeAsKinora } from './encode-kinora.ts'
import { makeSource, readArguments } from './encode-sources.ts'
import { ffmpeg } from './ffmpeg.ts'
import {
  authorization,
  median,
  Resources,
  type RunningServer,
  root,
  startKinora,
  withTemporaryFolder,
} from './servers.ts'
import { atMost, printTable } from './table.ts'

async function upload(url: string, path: string): Promise<string> {
  const body = new FormData()
  body.append('file', new Blob([await readFile(path)]), basename(path))
  const response = await fetch(`${url}/watermarks`, { method: 'POST', headers: { authorization }, body })
  if (response.status !== 200) throw new Error(`the response to the upload was ${response.status}`)
  return ((await response.json()) as { watermarkId: string }).watermarkId
}

/** CPU seconds of all ffmpeg processes of a video, including those that make its thumbnail and sprites. */
async function measure(kinora: RunningServer, path: string, payload: object): Promise<number> {
  const before = await childrenCpu(kinora.child.pid)
  const { videoId } = await encodeAsKinora(kinora, path, payload)
  while ((await fetch(`${kinora.url}/vod/${videoId}/sprites.vtt`)).status !== 200) await delay(100)
  return (await childrenCpu(kinora.child.pid)) - before
}

type Mark = { name: string; watermark: object; goal?: number }

async function compare(kinora: RunningServer, path: string, marks: Mark[]): Promise<void> {
  const plain: number[] = []
  const marked = marks.map((): number[] => [])
  // In turn, so that other load on the machine affects all of them.
  for (let round = 0; round < rounds; round++) {
    plain.push(await measure(kinora, path, {}))
    for (const [i, { watermark }] of marks.entries())
      marked[i]!.push(await measure(kinora, path, { watermark }))
  }
  const seconds = (values: number[]) => `${median(values).toFixed(1)} s`
  const rows = marks.map(({ name, goal }, i) => {
    const ratio = median(marked[i]!.map((cpu, round) => cpu / plain[round]!))
    const row = { measured: name, kinora: seconds(marked[i]!), reference: seconds(plain), ratio }
    return goal === undefined ? row : { ...row, goal: atMost(goal, ratio) }
  })
  printTable(`${basename(path)}: CPU time with a watermark, compared with the same video without`, rows)
}

export async function encodeWatermark(args: string[]): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const { files } = readArguments(args)
    const sources =
      files.length > 0 ? files : [await makeSource(folder, { kind: 'encoded', size: '720p', seconds: 60 })]
    const kinora = await resources.server(startKinora(join(folder, 'data')))
    const pattern = join(folder, 'pattern.png')
    await ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=1280x720,format=rgba', '-frames:v', '1', pattern)
    const logo = await upload(kinora.url, join(root, 'server/encoding/chunks/sandbox.png'))
    const frame = await upload(kinora.url, pattern)
    const corner = { id: logo, right: '2%', bottom: '2%', width: '15%', opacity: '80%' }
    const full = { id: frame, width: '100%', height: '100%', opacity: '20%' }
    const marks = [
      { name: 'logo in a corner, 15 % of the width', watermark: corner, goal: 1.1 },
      { name: 'image over the entire frame', watermark: full },
    ]
    for (const path of sources) await compare(kinora, path, marks)
  })
}
