export type Chapter = { title: string; startSeconds: number; endSeconds: number }

/** On a narrow timeline, more marks than this would leave nothing between them. */
const maxChapters = 100

/**
 * Chapters in order, none of which overlaps the next or is after the end of the video. A chapter with an invalid end lasts
 * until the next one.
 */
export function cleanChapters(chapters: Chapter[], durationSeconds: number): Chapter[] {
  const sorted = chapters
    .filter(({ title, startSeconds }) => title !== '' && startSeconds >= 0 && startSeconds < durationSeconds)
    .sort((a, b) => a.startSeconds - b.startSeconds)
    .filter(({ startSeconds }, index, all) => startSeconds !== all[index - 1]?.startSeconds)
    .slice(0, maxChapters)
  return sorted.map((chapter, index) => {
    const limit = sorted[index + 1]?.startSeconds ?? durationSeconds
    const isValid = chapter.endSeconds > chapter.startSeconds
    return { ...chapter, endSeconds: isValid ? Math.min(chapter.endSeconds, limit) : limit }
  })
}

/** The index of the chapter at a position, or -1. */
export const chapterAt = (chapters: Chapter[], seconds: number): number =>
  chapters.findIndex(({ startSeconds, endSeconds }, index) => {
    const isLast = index === chapters.length - 1
    return startSeconds <= seconds && (seconds < endSeconds || (isLast && seconds === endSeconds))
  })
