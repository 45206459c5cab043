import type { Pair } from '../../api/types.ts'
import { texts } from '../../texts/texts.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import styles from './metadata-fields.module.css'

type MetadataFieldsProps = { value: Pair[]; onChange(value: Pair[]): void }

export function MetadataFields({ value, onChange }: MetadataFieldsProps) {
  const change = (at: number, part: Partial<Pair>) =>
    onChange(value.map((pair, i) => (i === at ? { ...pair, ...part } : pair)))
  return (
    <fieldset className={styles.fields}>
      <legend>{texts.live.metadata}</legend>
      <p className={styles.hint}>{texts.live.metadataHint}</p>
      {value.map((pair, i) => (
        <div key={i} className={styles.pair}>
          <TextField
            label={<span className="visually-hidden">{texts.live.metadataKey}</span>}
            placeholder={texts.live.metadataKey}
            required
            maxLength={255}
            value={pair.key}
            onChange={(event) => change(i, { key: event.target.value })}
          />
          <TextField
            label={<span className="visually-hidden">{texts.live.metadataValue}</span>}
            placeholder={texts.live.metadataValue}
            maxLength={2_000}
            value={pair.value}
            onChange={(event) => change(i, { value: event.target.value })}
          />
          <IconButton
            icon="trash"
            label={texts.live.metadataRemove(pair.key)}
            onClick={() => onChange(value.filter((_, at) => at !== i))}
          />
        </div>
      ))}
      <div>
        <Button icon="plus" onClick={() => onChange([...value, { key: '', value: '' }])}>
          {texts.live.metadataAdd}
        </Button>
      </div>
    </fieldset>
  )
}
