import { messages } from '../../../messages/messages.ts'
import { Button, IconButton } from '../../../ui/button.tsx'
import { isFiltered, type VideoSearch } from './search-params.ts'
import styles from './toolbar.module.css'

/** The filters by tags and metadata, each of which can be removed. */
export function FilterChips({
  search,
  onSearch,
}: {
  search: VideoSearch
  onSearch(next: VideoSearch): void
}) {
  const { tags = [], metadata = {}, sort } = search
  if (tags.length === 0 && Object.keys(metadata).length === 0) return null
  const removeTag = (tag: string) => onSearch({ ...search, tags: tags.filter((each) => each !== tag) })
  const removePair = (key: string) => {
    const { [key]: _, ...rest } = metadata
    onSearch({ ...search, metadata: rest })
  }
  return (
    <div className={styles.chips}>
      {tags.map((tag) => (
        <Chip key={tag} label={`#${tag}`} onRemove={() => removeTag(tag)} />
      ))}
      {Object.entries(metadata).map(([key, value]) => (
        <Chip key={key} label={`${key} = ${value}`} onRemove={() => removePair(key)} />
      ))}
      {isFiltered(search) && (
        <Button variant="quiet" onClick={() => onSearch(sort ? { sort } : {})}>
          {messages.videos.clearFilters}
        </Button>
      )}
    </div>
  )
}

const Chip = ({ label, onRemove }: { label: string; onRemove(): void }) => (
  <span className={styles.chip}>
    <bdi>{label}</bdi>
    <IconButton icon="close" label={messages.videos.removeFilter(label)} onClick={onRemove} />
  </span>
)
