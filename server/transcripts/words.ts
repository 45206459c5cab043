/** Creating a segmenter takes longer than dividing a phrase with it. */
const segmenters = new Map<string, Intl.Segmenter>()

/** Divides a text into words and what is between them, also in languages that are written without spaces. */
export function segmentWords(text: string, language: string): Intl.Segments {
  const segmenter = segmenters.get(language) ?? new Intl.Segmenter(language, { granularity: 'word' })
  segmenters.set(language, segmenter)
  return segmenter.segment(text)
}

/** Stops counting at the maximum. */
export function countWords(text: string, language: string, max = Number.POSITIVE_INFINITY): number {
  let words = 0
  for (const { isWordLike } of segmentWords(text, language)) {
    if (isWordLike) words++
    if (words >= max) break
  }
  return words
}
