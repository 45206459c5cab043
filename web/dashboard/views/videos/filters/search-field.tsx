import { useEffect, useRef, useState } from 'react'
import { messages } from '../../../messages/messages.ts'
import { Icon } from '../../../ui/icon.tsx'
import styles from './toolbar.module.css'

/** Typing quickly sends one request, not one for each letter. */
const settleMs = 150

/** Searches while somebody types. The key / leads here (app/global-commands.tsx). */
export function SearchField({ value, onChange }: { value: string; onChange(value: string): void }) {
  const [text, setText] = useState(value)
  /** The value of the URL, and those that it is about to get from here. */
  const sent = useRef([value])
  const change = useRef(onChange)
  change.current = onChange
  // The URL may change without this field: by "back", or when the filters are cleared.
  useEffect(() => {
    const position = sent.current.findIndex((each) => each.trim() === value.trim())
    if (position >= 0) {
      sent.current.splice(0, position)
    } else {
      sent.current = [value]
      setText(value)
    }
  }, [value])
  useEffect(() => {
    if (text === sent.current.at(-1)) return
    const timer = setTimeout(() => {
      sent.current.push(text)
      change.current(text)
    }, settleMs)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <label className={styles.search}>
      <Icon name="search" size={16} />
      <input
        type="search"
        data-search
        aria-label={messages.videos.search}
        placeholder={messages.videos.search}
        aria-keyshortcuts="/"
        maxLength={200}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <kbd>/</kbd>
    </label>
  )
}
