import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Video, VideoStatus } from '../../../../api/types.ts'
import { pickThumbnail } from '../../../../api/video.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { messages } from '../../../../messages/messages.ts'
import { Button, IconButton } from '../../../../ui/button.tsx'
import { ErrorText } from '../../../../ui/states.tsx'
import { showToast } from '../../../../ui/toast-list.ts'
import { usePlayer, usePlayerState } from '../player/use-player.ts'
import { formatTime } from '../tracks/webvtt.ts'
import { type Tile, tileAt, tilesQuery } from './sprites.ts'
import styles from './thumbnail-tab.module.css'
import { TileImage } from './tile-image.tsx'

const words = messages.video.thumbnail
/** Of six frames of 16:9. It is known before the frames are loaded. */
const stripAspectRatio = 32 / 3

/** A timeline of small frames. The player beside it shows the exact frame. */
export function FramePicker({ video, status }: { video: Video; status: VideoStatus }) {
  const environment = useEnvironment()
  const { link } = usePlayer()
  const isConnected = usePlayerState((state) => state.isConnected)
  const { data: tiles = [] } = useQuery(tilesQuery(environment, video.videoId, video.assets.thumbnail))
  const [ms, setMs] = useState(0)
  const { duration, framerate } = status.encoding.metadata
  const lengthMs = tiles.at(-1)?.endMs ?? (duration ?? 0) * 1000
  const stepMs = 1000 / (framerate || 25)
  const move = (to: number) => {
    const next = Math.round(Math.min(Math.max(0, to), lengthMs - 1))
    setMs(next)
    link.pause()
    link.seek(next)
  }
  const pick = useMutation({
    mutationFn: () => pickThumbnail(environment, video.videoId, timecode(ms)),
    onSuccess: () => showToast(words.picked),
  })
  const shown = tileAt(tiles, ms)
  return (
    <div className={styles.picker}>
      {/* A connected player shows the exact frame. It connects after a moment, so nothing is shown before it is needed. */}
      {shown && !isConnected && ms > 0 && <TileImage tile={shown} label={words.preview(formatTime(ms))} />}
      <div className={styles.strip} style={{ aspectRatio: stripAspectRatio }}>
        {pickTiles(tiles).map((tile, i) => (
          <TileImage key={i} tile={tile} />
        ))}
        <input
          type="range"
          className={styles.slider}
          aria-label={words.position}
          aria-valuetext={formatTime(ms)}
          min={0}
          max={Math.max(1, lengthMs - 1)}
          step="any"
          value={ms}
          onChange={(event) => move(Number(event.target.value))}
          onKeyDown={(event) => {
            const frames = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key]
            if (frames === undefined) return
            event.preventDefault()
            move(ms + frames * stepMs)
          }}
        />
      </div>
      <div className={styles.controls}>
        <IconButton icon="left" label={words.previous} onClick={() => move(ms - stepMs)} />
        <output className={styles.time}>{formatTime(ms)}</output>
        <IconButton icon="chevron" label={words.next} onClick={() => move(ms + stepMs)} />
        <Button
          icon="clock"
          disabled={!isConnected}
          onClick={() => void link.position().then((position) => move(position))}
        >
          {words.fromPlayer}
        </Button>
        <Button variant="primary" icon="image" disabled={pick.isPending} onClick={() => pick.mutate()}>
          {words.use}
        </Button>
      </div>
      {pick.error && <ErrorText error={pick.error} />}
    </div>
  )
}

/** Evenly spread over the video, and as many as fill the strip. A short video repeats some. */
function pickTiles(tiles: Tile[]): Tile[] {
  const [first] = tiles
  if (!first) return []
  const count = Math.round((stripAspectRatio * first.height) / first.width)
  return Array.from({ length: count }, (_, i) => tiles[Math.floor(((i + 0.5) * tiles.length) / count)]!)
}

/** `HH:MM:SS.mmm` */
const timecode = (ms: number) => (ms < 3_600_000 ? `00:${formatTime(ms)}` : formatTime(ms))
