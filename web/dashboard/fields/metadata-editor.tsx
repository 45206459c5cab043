import type { Pair } from '../api/types.ts'
import { messages } from '../messages/messages.ts'
import { Button, IconButton } from '../ui/button.tsx'
import styles from './metadata-editor.module.css'

type MetadataEditorProps = { metadata: Pair[]; error: string | undefined; onChange(metadata: Pair[]): void }

const words = messages.metadata
const dynamicPattern = /^__\w+__$/

/** What has to be corrected before the pairs can be saved. */
export function metadataProblem(metadata: Pair[]): string | undefined {
  const keys = metadata.map(({ key }) => key)
  if (metadata.some(({ key, value }) => key === '' && value !== '')) return words.missingKey
  const repeated = keys.find((key, i) => key !== '' && keys.indexOf(key) !== i)
  return repeated === undefined ? undefined : words.repeatedKey(repeated)
}

/** Pairs without a key and a value are not saved. */
export const withoutEmpty = <T extends { metadata?: Pair[] }>({ metadata, ...change }: T) => ({
  ...change,
  ...(metadata && { metadata: metadata.filter(({ key, value }) => key !== '' || value !== '') }),
})

export function MetadataEditor({ metadata, error, onChange }: MetadataEditorProps) {
  const change = (at: number, pair: Partial<Pair>) =>
    onChange(metadata.map((each, i) => (i === at ? { ...each, ...pair } : each)))
  const problem = metadataProblem(metadata) ?? error
  return (
    <fieldset className={styles.editor}>
      <legend>{words.title}</legend>
      <div className="secondary">{words.hint}</div>
      {metadata.map((pair, i) => (
        <PairRow
          // Pairs have no identity but their place.
          key={i}
          pair={pair}
          row={i + 1}
          onChange={(next) => change(i, next)}
          onRemove={() => onChange(metadata.toSpliced(i, 1))}
        />
      ))}
      {problem && (
        <div className="error-text" role="alert">
          {problem}
        </div>
      )}
      {metadata.some(({ value }) => dynamicPattern.test(value)) && (
        <div className="secondary">{words.dynamicHint}</div>
      )}
      <div>
        <Button
          icon="plus"
          disabled={metadata.length >= 100}
          onClick={() => onChange([...metadata, { key: '', value: '' }])}
        >
          {words.addPair}
        </Button>
      </div>
    </fieldset>
  )
}

type PairRowProps = { pair: Pair; row: number; onChange(pair: Partial<Pair>): void; onRemove(): void }

function PairRow({ pair: { key, value }, row, onChange, onRemove }: PairRowProps) {
  const isDynamic = dynamicPattern.test(value)
  return (
    <div className={styles.pair}>
      <input
        className="control"
        aria-label={words.keyOf(row)}
        placeholder={words.key}
        maxLength={255}
        dir="auto"
        value={key}
        onChange={(event) => onChange({ key: event.target.value })}
      />
      <input
        className="control"
        aria-label={words.valueOf(row)}
        placeholder={words.value}
        maxLength={2_000}
        dir="auto"
        value={value}
        onChange={(event) => onChange({ value: event.target.value })}
      />
      <Button
        variant="quiet"
        className={styles.toggle}
        aria-pressed={isDynamic}
        disabled={!/^\w+$/.test(key)}
        onClick={() => onChange({ value: isDynamic ? '' : `__${key}__` })}
      >
        {words.dynamic}
        <span className="visually-hidden">{words.makeDynamic(key)}</span>
      </Button>
      <IconButton icon="trash" label={words.removePair(key)} onClick={onRemove} />
    </div>
  )
}
