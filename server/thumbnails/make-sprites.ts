import { createReadStream } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import * as renditions from '../encoding/renditions/rendition-store.ts'
import { writeSegments } from '../encoding/renditions/write-segments.ts'
import { RunError } from '../lib/run.ts'
import { runFfmpeg, type Tools } from '../media/ffmpeg.ts'
import { segmentOf } from '../media/grid.ts'
import { chooseRung, countSheets, findTileFrames, layOutSprites } from '../media/sprites.ts'
import { spriteSheetArgs } from '../media/thumbnails.ts'
import { discardFiles } from '../videos/delete.ts'
import { newSpritesKey, spriteSheetFile } from '../videos/files.ts'
import { isSparse, type PlannedEncoding } from './segments.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'db' | 'files'> & { tools: Tools }

/**
 * Makes the sprite sheets of an encoded video, unless they exist. Decoding only key frames would cost less, but the next
 * one may be seconds away and show another scene.
 */
export async function makeSprites(
  deps: Deps,
  { videoId, sprites: existing }: store.Thumbnails,
  { state, plan, media }: PlannedEncoding,
  folder: string,
): Promise<void> {
  if (state !== 'encoded' || existing || !media?.picture) return
  const encoded = (await renditions.listRenditions(deps.db, videoId)).filter(
    ({ type, state }) => type === 'hls' && state === 'encoded',
  )
  const rungs = plan.rungs.filter(({ quality }) => encoded.some((each) => each.quality === quality))
  // In a quality with gaps, frames are found by their times, which takes longer.
  const full = rungs.filter(({ quality }) => !isSparse(plan, quality))
  const rung = chooseRung(full.length > 0 ? full : rungs)
  if (!rung) return
  const sprites = layOutSprites(plan, rung)
  const { segments: indexes, frames, gridFrames } = findTileFrames(plan, sprites)
  const rows = await renditions.listSegments(deps.db, videoId, rung.quality)
  const segments = indexes.flatMap((segment) => {
    const row = rows.findLast(({ first_segment }) => first_segment <= segment)
    return row ? [{ row, segment }] : []
  })
  const input = join(folder, 'tiles.mp4')
  if (!(await writeSegments(deps, rung.quality, segments, input))) return
  const sheets = join(folder, 'sheets')
  await mkdir(sheets)
  const output = join(sheets, '%d.jpg')
  const gaps = { rate: plan.rate, fromFrame: segmentOf(plan, indexes[0]!).fromFrame }
  const chosen = isSparse(plan, rung.quality) ? { frames: gridFrames, gaps } : { frames }
  await runFfmpeg(deps.tools, spriteSheetArgs({ input, sprites, output, ...chosen }))
  const made = (await readdir(sheets)).length
  if (made !== countSheets(sprites))
    throw new RunError(`made ${made} sheets, not ${countSheets(sprites)}`, {
      command: deps.tools.ffmpeg,
      exitCode: 0,
    })
  const key = newSpritesKey(videoId)
  let bytes = 0
  for (let sheet = 0; sheet < made; sheet++) {
    const body = createReadStream(join(sheets, `${sheet}.jpg`))
    bytes += (await deps.files.put(spriteSheetFile(key, sheet), body)).size
  }
  const isRecorded = await store.recordSprites(deps.db, videoId, sprites, { key, bytes })
  if (!isRecorded) await discardFiles(deps, videoId, [key])
}
