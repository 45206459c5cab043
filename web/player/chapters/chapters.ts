import { parseCue } from '../captions/cue-text.ts'
import type { Controls } from '../controls/controls.ts'
import { findLanguage, hasRightToLeft } from '../languages.ts'
import type { PlayerConfig } from '../player-config.ts'
import { type Chapter, chapterAt, cleanChapters } from './chapter-list.ts'
import { createChapterMenu } from './chapter-menu.ts'

type Target = {
  video: HTMLVideoElement
  controls: Controls
  config: Pick<PlayerConfig, 'chapters' | 'durationSeconds'>
  signal: AbortSignal
  seek(seconds: number): void
}

/** Loads the chapters in the viewer's language and adds their marks and their menu. */
export async function startChapters({ video, controls, config, signal, seek }: Target): Promise<void> {
  const file = findLanguage(config.chapters, navigator.languages) ?? config.chapters[0]
  if (!file) return
  const cues = await loadCues(video, file.src)
  const chapters = cleanChapters(cues.map(chapterOf), config.durationSeconds ?? video.duration)
  if (signal.aborted || chapters.length === 0) return
  markTimeline(video, chapters)
  const menu = createChapterMenu(chapters, (index) => {
    const chapter = chapters[index]
    if (chapter) seek(chapter.startSeconds)
  })
  controls.addMenu(menu.button, menu.menu)
  const update = () => menu.select(chapterAt(chapters, video.currentTime))
  update()
  video.addEventListener('timeupdate', update, { signal })
  video.addEventListener('seeking', update, { signal })
}

/** A hostile file could have a hundred thousand cues, or one of megabytes. */
const maxCues = 1000
const maxTitleLength = 300

/** Loads a WebVTT file. A file that cannot be loaded has no cues. */
function loadCues(video: HTMLVideoElement, src: string): Promise<VTTCue[]> {
  const loading = Object.assign(document.createElement('track'), { kind: 'metadata', src })
  return new Promise((resolve) => {
    const finish = () => {
      const cues = [...(loading.track.cues ?? [])].slice(0, maxCues)
      resolve(cues.filter((cue) => cue instanceof VTTCue))
      loading.remove()
    }
    loading.addEventListener('load', finish)
    loading.addEventListener('error', finish)
    video.append(loading)
    loading.track.mode = 'hidden'
  })
}

const chapterOf = (cue: VTTCue): Chapter => ({
  title: parseCue(cue.text.slice(0, maxTitleLength)).textContent?.replace(/\s+/g, ' ').trim() ?? '',
  startSeconds: cue.startTime,
  endSeconds: cue.endTime,
})

/** media-chrome reads the marks of the timeline and the title above it from a track of chapters. */
function markTimeline(video: HTMLVideoElement, chapters: Chapter[]): void {
  const track = video.addTextTrack('chapters')
  track.mode = 'hidden'
  for (const { title, startSeconds, endSeconds } of chapters)
    track.addCue(new VTTCue(startSeconds, endSeconds, escapeCue(isolate(title))))
}

/** Keeps the punctuation of a right-to-left title on its side. */
const isolate = (title: string) => (hasRightToLeft(title) ? `\u2068${title}\u2069` : title)

const escapeCue = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
