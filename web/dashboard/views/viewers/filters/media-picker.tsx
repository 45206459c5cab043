import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, type Ref, useDeferredValue, useId, useRef, useState } from 'react'
import { api, type Environment } from '../../../api/client.ts'
import type { LiveStream } from '../../../api/live-streams.ts'
import type { Page, Video } from '../../../api/types.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { TextField } from '../../../ui/field.tsx'
import listbox from '../../../ui/listbox.module.css'

const maxResults = 8

type Found = { id: string; title: string; isLive: boolean }

async function find(environment: Environment, text: string, signal: AbortSignal): Promise<Found[]> {
  const get = <T,>(path: string, query: Record<string, string | number>) =>
    api<Page<T>>(environment, 'GET', path, { query: { ...query, pageSize: maxResults }, signal })
  const [streams, videos] = await Promise.all([
    get<LiveStream>('/live-streams', { name: text }),
    get<Video>('/videos', { search: text }),
  ])
  return [
    ...streams.data.map(({ liveStreamId, name }) => ({ id: liveStreamId, title: name, isLive: true })),
    ...videos.data.map(({ videoId, title }) => ({ id: videoId, title, isLive: false })),
  ].slice(0, maxResults)
}

/** Finds a video or live stream by typing. */
export function MediaPicker({ onSelect }: { onSelect(id: string): void }) {
  const environment = useEnvironment()
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const [text, setText] = useState('')
  const [selected, setSelected] = useState(0)
  const query = useDeferredValue(text.trim())
  const { data } = useQuery({
    queryKey: [environment, 'videos', 'list', 'media-picker', query],
    enabled: query !== '',
    queryFn: ({ signal }) => find(environment, query, signal),
  })
  const isOpen = text.trim() !== '' && data !== undefined
  const found = isOpen ? data : []
  const current = Math.min(selected, found.length - 1)
  const choose = (item: Found | undefined) => {
    if (!item) return
    setText('')
    onSelect(item.id)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && found.length > 0) {
      event.preventDefault()
      setSelected((current + step + found.length) % found.length)
    } else if (event.key === 'Enter') {
      event.preventDefault()
      choose(found[current])
    } else if (event.key === 'Escape') setText('')
  }
  return (
    <div className={listbox.anchor}>
      <TextField
        type="search"
        role="combobox"
        autoComplete="off"
        label={<span className="visually-hidden">{messages.viewers.mediaSearch}</span>}
        placeholder={messages.viewers.mediaSearch}
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length > 0 ? `${id}-${current}` : undefined}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setSelected(0)
        }}
        onKeyDown={onKeyDown}
        // A click on a result moves the focus to it.
        onBlur={(event) => !list.current?.contains(event.relatedTarget) && setText('')}
      />
      <Results ref={list} id={id} found={found} current={current} onPoint={setSelected} onSelect={choose} />
      {isOpen && found.length === 0 && (
        <div className={listbox.list} role="status">
          <div className={listbox.option}>{messages.viewers.mediaNothing}</div>
        </div>
      )}
    </div>
  )
}

type ResultsProps = {
  ref: Ref<HTMLDivElement>
  id: string
  found: Found[]
  current: number
  onPoint(index: number): void
  onSelect(item: Found): void
}

const Results = ({ ref, id, found, current, onPoint, onSelect }: ResultsProps) => (
  <div
    ref={ref}
    className={listbox.list}
    role="listbox"
    id={`${id}-list`}
    aria-label={messages.viewers.media}
    hidden={found.length === 0}
  >
    {found.map((item, i) => (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the input
      <div
        key={item.id}
        role="option"
        id={`${id}-${i}`}
        aria-selected={i === current}
        tabIndex={-1}
        className={listbox.option}
        onMouseMove={() => onPoint(i)}
        onClick={() => onSelect(item)}
      >
        <span dir="auto">{item.title}</span>
        <span className="secondary">
          {item.isLive ? messages.viewers.mediaLive : messages.viewers.mediaVideo}
        </span>
      </div>
    ))}
  </div>
)
