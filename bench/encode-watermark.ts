import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { childrenCpu, encodeAsKinora, ffmpeg, findSources, rounds } from './encode.ts'
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

async function compare(kinora: RunningServer, path: string, marks: Record<string, object>): Promise<void> {
  const names = Object.keys(marks)
  const plain: number[] = []
  const marked = names.map((): number[] => [])
  // In turn, so that other load on the machine affects all of them.
  for (let round = 0; round < rounds; round++) {
    plain.push(await measure(kinora, path, {}))
    for (const [i, watermark] of Object.values(marks).entries())
      marked[i]!.push(await measure(kinora, path, { watermark }))
  }
  const seconds = (values: number[]) => `${median(values).toFixed(1)} s`
  const rows = names.map((measured, i) => {
    const ratio = median(marked[i]!.map((cpu, round) => cpu / plain[round]!))
    return {
      ...{ measured, kinora: seconds(marked[i]!), reference: seconds(plain), ratio },
      goal: atMost(1.1, ratio),
    }
  })
  printTable(`${basename(path)}: CPU time with a watermark, compared with the same video without`, rows)
}

export async function encodeWatermark(args: string[]): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    const sources = await findSources(folder, args)
    const kinora = await resources.server(startKinora(join(folder, 'data')))
    const pattern = join(folder, 'pattern.png')
    await ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=1280x720,format=rgba', '-frames:v', '1', pattern)
    const logo = await upload(kinora.url, join(root, 'server/encoding/sandbox.png'))
    const frame = await upload(kinora.url, pattern)
    const marks = {
      'logo in a corner, 15 % of the width': {
        id: logo,
        right: '2%',
        bottom: '2%',
        width: '15%',
        opacity: '80%',
      },
      'image over the entire frame, 20 % opacity': {
        id: frame,
        width: '100%',
        height: '100%',
        opacity: '20%',
      },
    }
    for (const path of sources) await compare(kinora, path, marks)
  })
}
