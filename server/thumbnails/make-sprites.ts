import { createReadStream } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { RunError } from '../lib/run.ts'
import { runFfmpeg, type Tools } from '../media/ffmpeg.ts'
import { countSheets, layOutSprites, tileSegments } from '../media/sprites.ts'
import { spriteSheetArgs } from '../media/thumbnails.ts'
import { newSpritesKey, spriteSheetFile } from '../renditions/files.ts'
import * as renditions from '../renditions/store.ts'
import { writeSegments } from '../renditions/write-segments.ts'
import { discardFiles } from '../videos/delete.ts'
import type { PlannedEncoding } from './segments.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'db' | 'files'> & { tools: Tools }

/** Makes the sprite sheets of an encoded video from its lowest quality, unless they exist. */
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
  const rung = plan.rungs.find(({ quality }) => encoded.some((stream) => stream.quality === quality))
  if (!rung) return
  const sprites = layOutSprites(plan, rung)
  const rows = await renditions.listSegments(deps.db, videoId, rung.quality)
  const segments = tileSegments(sprites).flatMap((segment) => {
    const row = rows.findLast(({ first_segment }) => first_segment <= segment)
    return row ? [{ row, segment }] : []
  })
  const input = join(folder, 'tiles.mp4')
  if (!(await writeSegments(deps, rung.quality, segments, input))) return
  const sheets = join(folder, 'sheets')
  await mkdir(sheets)
  const { width, height, columns, rows: tileRows } = sprites
  const output = join(sheets, '%d.jpg')
  await runFfmpeg(
    deps.tools,
    spriteSheetArgs({ input, tile: { width, height }, columns, rows: tileRows, output }),
  )
  const made = (await readdir(sheets)).length
  if (made !== countSheets(sprites))
    throw new RunError(`made ${made} sheets, not ${countSheets(sprites)}`, {
      command: deps.tools.ffmpeg,
      exitCode: 0,
    })
  const key = newSpritesKey(videoId)
  for (let sheet = 0; sheet < made; sheet++)
    await deps.files.put(spriteSheetFile(key, sheet), createReadStream(join(sheets, `${sheet}.jpg`)))
  if (!(await store.recordSprites(deps.db, videoId, sprites, key))) await discardFiles(deps, videoId, [key])
}
