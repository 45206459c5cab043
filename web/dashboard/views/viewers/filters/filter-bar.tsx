import { useState } from 'react'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { SelectField, TextField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useViewersSearch } from '../use-viewers-search.ts'
import { type TextFilter, textFilters, type ViewersSearch } from '../viewers-search.ts'
import { labelOf } from './dimension-names.ts'
import styles from './filter-bar.module.css'
import { useMedia } from './media-names.ts'
import { MediaPicker } from './media-picker.tsx'

const nothing = Object.fromEntries(textFilters.map((name) => [name, undefined]))

/** What the sessions are filtered by. Rows of the breakdowns add further filters. */
export function FilterBar() {
  const { search, change } = useViewersSearch()
  const { tab = 'overview' } = search
  const isOverview = tab === 'overview'
  const shown = textFilters.filter((name) => search[name] !== undefined && (isOverview || name === 'media'))
  return (
    <section className={styles.bar} aria-label={messages.viewers.filters}>
      <div className={styles.fields}>
        <MediaPicker onSelect={(media) => change({ media })} />
        {isOverview && (
          <>
            <TagField onSelect={(tag) => change({ tag })} />
            <SelectField
              label={<span className="visually-hidden">{messages.viewers.type}</span>}
              value={search.type ?? ''}
              onChange={({ target: { value } }) =>
                change({ type: (value || undefined) as ViewersSearch['type'] })
              }
            >
              <option value="">{messages.viewers.types.all}</option>
              <option value="video">{messages.viewers.types.video}</option>
              <option value="live-stream">{messages.viewers.types['live-stream']}</option>
            </SelectField>
          </>
        )}
      </div>
      {shown.length > 0 && (
        <div className={styles.chips}>
          {shown.map((name) => (
            <Chip
              key={name}
              name={name}
              value={search[name] ?? ''}
              onRemove={() => change({ [name]: undefined })}
            />
          ))}
          {shown.length > 1 && (
            <Button variant="quiet" onClick={() => change({ ...nothing, type: undefined })}>
              {messages.viewers.clearFilters}
            </Button>
          )}
        </div>
      )}
    </section>
  )
}

function TagField({ onSelect }: { onSelect(tag: string): void }) {
  const [tag, setTag] = useState('')
  return (
    <Form
      onSubmit={() => {
        if (tag.trim() === '') return
        onSelect(tag.trim())
        setTag('')
      }}
    >
      <TextField
        label={<span className="visually-hidden">{messages.viewers.tag}</span>}
        placeholder={`${messages.viewers.tag}: ${messages.viewers.tagHint}`}
        maxLength={255}
        value={tag}
        onChange={(event) => setTag(event.target.value)}
      />
    </Form>
  )
}

type ChipProps = { name: TextFilter; value: string; onRemove(): void }

function Chip({ name, value, onRemove }: ChipProps) {
  const media = useMedia(name === 'media' ? value : undefined)
  const label = messages.viewers.filterNames[name]
  const text = name === 'media' ? (media?.title ?? value) : labelOf(name, value)
  return (
    <span className={styles.chip}>
      <span className="muted">{label}</span>
      <span className={styles.chipValue} dir="auto">
        {text}
      </span>
      <button
        type="button"
        className={styles.remove}
        aria-label={messages.viewers.removeFilter(label, text)}
        onClick={onRemove}
      >
        <Icon name="close" size={14} />
      </button>
    </span>
  )
}
