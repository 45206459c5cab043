/** A code block of a Markdown file. */
export type Block = {
  /** The name of the file and the line of the block, for messages. */
  place: string
  /** The heading above it. */
  section: string
  language: string
  text: string
  /** The HTML comment in the line above it, which readers do not see. */
  note: string
}

export function readBlocks(file: string, markdown: string): Block[] {
  const blocks: Block[] = []
  let section = ''
  let previous = ''
  let open: Block | undefined
  for (const [index, line] of markdown.split('\n').entries()) {
    if (open && line === '```') open = undefined
    else if (open) open.text += `${line}\n`
    else if (line.startsWith('```')) {
      const [, note = ''] = /^<!-- (.*) -->$/.exec(previous) ?? []
      open = { place: `${file}:${index + 1}`, section, language: line.slice(3), text: '', note }
      blocks.push(open)
    } else if (/^#+ /.test(line)) section = line.replace(/^#+ /, '')
    previous = line
  }
  return blocks
}
