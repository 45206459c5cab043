import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useDeferredValue, useId, useState } from 'react'
import { type TagSuggestion, tagSuggestionsQuery } from '../../../../api/videos.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { messages } from '../../../../messages/messages.ts'
import { Field } from '../../../../ui/field.tsx'
import { formatNumber } from '../../../../ui/format.ts'
import { Icon } from '../../../../ui/icon.tsx'
import listbox from '../../../../ui/listbox.module.css'
import styles from './tag-input.module.css'

type TagInputProps = { tags: string[]; error: string | undefined; onChange(tags: string[]): void }

const words = messages.video.details
const maxTags = 100

/** Tags as tokens, with suggestions from the tags of all videos. */
export function TagInput({ tags, error, onChange }: TagInputProps) {
  const [text, setText] = useState('')
  const [isOpen, setOpen] = useState(false)
  const [selected, setSelected] = useState(-1)
  const listId = useId()
  const suggestions = useSuggestions(text, tags, isOpen)
  const add = (...added: string[]) => {
    const next = [...new Set([...tags, ...added.map((tag) => tag.trim()).filter(Boolean)])]
    if (next.length > tags.length) onChange(next.slice(0, maxTags))
    setText('')
    setSelected(-1)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const chosen = suggestions[selected]
    if (step !== undefined && suggestions.length > 0) {
      event.preventDefault()
      setOpen(true)
      setSelected(
        (selected + step + suggestions.length + (selected < 0 && step < 0 ? 1 : 0)) % suggestions.length,
      )
    } else if (event.key === 'Enter' && (chosen || text.trim())) {
      event.preventDefault()
      add(chosen?.value ?? text)
    } else if (event.key === 'Escape' && isOpen) {
      event.stopPropagation()
      setOpen(false)
    } else if (event.key === 'Backspace' && text === '' && tags.length > 0) onChange(tags.slice(0, -1))
  }
  return (
    <Field label={words.tags} hint={words.tagsHint} error={error}>
      {({ className, ...control }) => (
        <div className={styles.box}>
          {tags.map((tag) => (
            <Tag key={tag} tag={tag} onRemove={() => onChange(tags.filter((each) => each !== tag))} />
          ))}
          <input
            {...control}
            className={styles.input}
            role="combobox"
            autoComplete="off"
            aria-autocomplete="list"
            aria-expanded={suggestions.length > 0}
            aria-controls={listId}
            aria-activedescendant={suggestions[selected] ? `${listId}-${selected}` : undefined}
            placeholder={tags.length === 0 ? words.tagPlaceholder : undefined}
            maxLength={255}
            dir="auto"
            value={text}
            onFocus={() => setOpen(true)}
            onBlur={() => {
              setOpen(false)
              add(text)
            }}
            onChange={(event) => {
              const parts = event.target.value.split(',')
              if (parts.length > 1) return add(...parts)
              setText(event.target.value)
              setSelected(-1)
              setOpen(true)
            }}
            onKeyDown={onKeyDown}
          />
          <Suggestions id={listId} suggestions={suggestions} selected={selected} onSelect={add} />
        </div>
      )}
    </Field>
  )
}

const Tag = ({ tag, onRemove }: { tag: string; onRemove(): void }) => (
  <span className={styles.tag}>
    <bdi>{tag}</bdi>
    <button type="button" className={styles.remove} aria-label={words.removeTag(tag)} onClick={onRemove}>
      <Icon name="close" size={12} />
    </button>
  </span>
)

type SuggestionsProps = {
  id: string
  suggestions: TagSuggestion[]
  selected: number
  onSelect(tag: string): void
}

const Suggestions = ({ id, suggestions, selected, onSelect }: SuggestionsProps) => (
  <div
    id={id}
    role="listbox"
    aria-label={words.suggestions}
    hidden={suggestions.length === 0}
    className={listbox.list}
  >
    {suggestions.map(({ value, videoCount }, i) => (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the input
      <div
        key={value}
        id={`${id}-${i}`}
        role="option"
        tabIndex={-1}
        aria-selected={i === selected}
        className={listbox.option}
        // The input keeps the focus.
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => onSelect(value)}
      >
        <bdi>{value}</bdi>
        <span className="secondary">{words.tagCount(videoCount, formatNumber(videoCount))}</span>
      </div>
    ))}
  </div>
)

function useSuggestions(text: string, tags: string[], isOpen: boolean) {
  const environment = useEnvironment()
  const value = useDeferredValue(text.trim())
  const { data = [] } = useQuery({
    ...tagSuggestionsQuery(environment, value),
    placeholderData: keepPreviousData,
    enabled: isOpen,
  })
  return isOpen ? data.filter((tag) => !tags.includes(tag.value)) : []
}
