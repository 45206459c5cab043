import { createChoiceMenu, menuButton } from '../controls/choice-menu.ts'
import { element } from '../element.ts'
import { icon } from '../status-screen.ts'
import type { Chapter } from './chapter-list.ts'

const listIcon = 'M3 5h3v3H3zm5 .5h13v2H8zM3 10.5h3v3H3zm5 .5h13v2H8zM3 16h3v3H3zm5 .5h13v2H8z'

export type ChapterMenu = {
  button: HTMLElement
  menu: HTMLElement
  /** Marks the current chapter by its index; -1 means none. */
  select(index: number): void
}

/** The button shows the title of the current chapter. The menu jumps to the start of one. */
export function createChapterMenu(chapters: Chapter[], onChoose: (index: number) => void): ChapterMenu {
  const menu = createChoiceMenu('Chapters')
  const choices = chapters.map(({ title, startSeconds }, index) => ({
    value: String(index),
    label: title,
    description: formatTime(startSeconds),
  }))
  menu.setChoices(choices, '-1')
  menu.onChoose = (value) => onChoose(Number(value))
  const title = element('bdi', { class: 'chapter' })
  const content = element('span', {}, icon(listIcon), title)
  const button = menuButton(menu, { name: 'Chapters', control: 'chapters', content })
  // The title of the chapter is visible already.
  button.setAttribute('notooltip', '')
  let current: number | undefined
  return {
    button,
    menu,
    select(index) {
      if (index === current) return
      current = index
      const text = chapters[index]?.title ?? ''
      menu.select(String(index))
      title.textContent = text
      button.setAttribute('aria-label', text ? `Chapters, now: ${text}` : 'Chapters')
    },
  }
}

/** `1:02:03` or `2:03`. */
function formatTime(seconds: number): string {
  const [hours, minutes, rest] = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map(Math.floor)
  const pad = (value: number | undefined) => String(value).padStart(2, '0')
  return hours ? `${hours}:${pad(minutes)}:${pad(rest)}` : `${minutes}:${pad(rest)}`
}
