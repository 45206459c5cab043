import * as Radix from '@radix-ui/react-dialog'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useDeferredValue, useId, useState } from 'react'
import { api } from '../api/client.ts'
import type { Page, Video } from '../api/types.ts'
import { messages } from '../messages/messages.ts'
import { Icon, type IconName } from '../ui/icon.tsx'
import { useStore } from '../ui/store.ts'
import { titleOf } from '../ui/title-of.ts'
import styles from './command-palette.module.css'
import { commands } from './commands.ts'
import { useEnvironment } from './environment.ts'
import { destinations } from './navigation.tsx'
import { isPaletteOpen } from './palette-state.ts'

type Item = { id: string; group: string; label: string; icon: IconName; key?: string; run(): void }

/** Everything that can be opened or done, by typing. */
export default function CommandPalette() {
  return (
    <Radix.Root open onOpenChange={isPaletteOpen.set}>
      <Radix.Portal>
        <Radix.Overlay className={styles.overlay} />
        <Radix.Content className={styles.palette} aria-describedby={undefined}>
          <Radix.Title className="visually-hidden">{messages.palette.title}</Radix.Title>
          <PaletteContent onDone={() => isPaletteOpen.set(false)} />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

function PaletteContent({ onDone }: { onDone(): void }) {
  const [query, setQuery] = useState('')
  const [selected, setSelected] = useState(0)
  const id = useId()
  const items = useItems(query)
  const current = Math.min(selected, items.length - 1)
  const choose = (item: Item | undefined) => {
    if (!item) return
    onDone()
    item.run()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && items.length > 0) {
      event.preventDefault()
      const next = (current + step + items.length) % items.length
      setSelected(next)
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' })
    } else if (event.key === 'Enter') {
      event.preventDefault()
      choose(items[current])
    }
  }
  return (
    <>
      <input
        className={styles.input}
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={items.length > 0 ? `${id}-${current}` : undefined}
        aria-label={messages.palette.placeholder}
        placeholder={messages.palette.placeholder}
        value={query}
        onChange={(event) => {
          setQuery(event.target.value)
          setSelected(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div className={styles.list} role="listbox" id={id} aria-label={messages.palette.title}>
        {items.map((item, i) => (
          <div key={item.id} role="presentation">
            {item.group !== items[i - 1]?.group && (
              <div className={styles.group} role="presentation">
                {item.group}
              </div>
            )}
            {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the input */}
            <div
              role="option"
              id={`${id}-${i}`}
              aria-selected={i === current}
              tabIndex={-1}
              className={styles.item}
              onMouseMove={() => setSelected(i)}
              onClick={() => choose(item)}
            >
              <Icon name={item.icon} size={16} />
              {item.label}
              {item.key && <kbd>{item.key}</kbd>}
            </div>
          </div>
        ))}
      </div>
      {items.length === 0 && <div className={styles.empty}>{messages.palette.empty}</div>}
    </>
  )
}

function useItems(query: string): Item[] {
  const environment = useEnvironment()
  const navigate = useNavigate()
  const videos = useVideos(query)
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const matches = ({ label }: { label: string }) => words.every((word) => label.toLowerCase().includes(word))
  const pages = destinations.map((each) => ({
    id: each.to,
    group: messages.palette.pages,
    label: each.label,
    icon: each.icon,
    key: `g ${each.shortcut}`,
    run: () => void navigate({ to: each.to, params: { environment } }),
  }))
  const keyTabs = (['upload-tokens', 'signing-keys'] as const).map((tab) => ({
    id: tab,
    group: messages.palette.pages,
    label: (tab === 'upload-tokens' ? messages.uploadTokens : messages.signingKeys).title,
    icon: 'key' as const,
    run: () => void navigate({ to: '/$environment/keys', params: { environment }, search: { tab } }),
  }))
  const actions = useStore(commands).map(({ id, label, key, run }) => ({
    id,
    label,
    run,
    group: messages.palette.actions,
    icon: 'chevron' as const,
    ...(key && { key }),
  }))
  return [...[...actions, ...pages, ...keyTabs].filter(matches), ...videos]
}

const maxVideos = 8

function useVideos(query: string): Item[] {
  const environment = useEnvironment()
  const navigate = useNavigate()
  const search = useDeferredValue(query.trim())
  const { data } = useQuery({
    queryKey: [environment, 'videos', 'list', 'palette', search],
    enabled: search.length > 1,
    queryFn: ({ signal }) =>
      api<Page<Video>>(environment, 'GET', '/videos', { query: { search, pageSize: maxVideos }, signal }),
  })
  return (data?.data ?? []).map((video) => ({
    id: video.videoId,
    group: messages.palette.videos,
    label: titleOf(video.title),
    icon: 'video' as const,
    run: () => void navigate({ href: `/dashboard/${environment}/videos/${video.videoId}` }),
  }))
}
