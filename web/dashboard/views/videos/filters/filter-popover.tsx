import * as Radix from '@radix-ui/react-popover'
import { useState } from 'react'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { TextField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import type { VideoSearch } from './search-params.ts'
import { TagSuggestions } from './tag-suggestions.tsx'
import styles from './toolbar.module.css'

type FilterPopoverProps = { search: VideoSearch; onSearch(next: VideoSearch): void }

/** Filters by tags and metadata. */
export default function FilterPopover(props: FilterPopoverProps) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>
        <Button icon="filter" aria-label={messages.videos.moreFilters} className={styles.filterButton}>
          <span>{messages.videos.moreFilters}</span>
        </Button>
      </Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          className={styles.popover}
          align="start"
          sideOffset={4}
          collisionPadding={8}
          aria-label={messages.videos.moreFilters}
        >
          <TagForm {...props} />
          <MetadataForm {...props} />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

function TagForm({ search, onSearch }: FilterPopoverProps) {
  const [tag, setTag] = useState('')
  const onSubmit = () => {
    onSearch({ ...search, tags: [...new Set([...(search.tags ?? []), tag.trim()])] })
    setTag('')
  }
  return (
    <Form isInline onSubmit={onSubmit}>
      <TextField
        label={messages.videos.tag}
        list="filter-tags"
        required
        maxLength={255}
        value={tag}
        onChange={(event) => setTag(event.target.value)}
      />
      <TagSuggestions id="filter-tags" typed={tag} />
      <Button type="submit">{messages.videos.addFilter}</Button>
    </Form>
  )
}

function MetadataForm({ search, onSearch }: FilterPopoverProps) {
  const [{ key, value }, setPair] = useState({ key: '', value: '' })
  const onSubmit = () => {
    onSearch({ ...search, metadata: { ...search.metadata, [key.trim()]: value } })
    setPair({ key: '', value: '' })
  }
  return (
    <Form className={styles.pairForm} onSubmit={onSubmit}>
      <TextField
        label={messages.videos.metadataKey}
        required
        maxLength={255}
        value={key}
        onChange={(event) => setPair({ key: event.target.value, value })}
      />
      <TextField
        label={messages.videos.metadataValue}
        required
        maxLength={2_000}
        value={value}
        onChange={(event) => setPair({ key, value: event.target.value })}
      />
      <Button type="submit">{messages.videos.addFilter}</Button>
    </Form>
  )
}
