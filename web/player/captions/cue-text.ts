/** A less-than sign that does not begin a tag of WebVTT. */
const unknownMarkup = /<(?!\/?(?:c|i|b|u|ruby|rt|v|lang)(?:[.\s][^<>]*)?>|[\d:.]+>)/g

/**
 * The content of a cue. The parser of the browser returns only elements for the style of text. Any other markup stays
 * text.
 */
export function parseCue(text: string): DocumentFragment {
  const content = new VTTCue(0, 0, text.replace(unknownMarkup, '&lt;')).getCueAsHTML()
  // Otherwise a cue could use the classes of our own style sheet.
  for (const element of content.querySelectorAll('[class]')) element.removeAttribute('class')
  return content
}
