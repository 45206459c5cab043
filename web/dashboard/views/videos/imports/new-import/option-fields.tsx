import { importMessages } from '../../../../messages/imports.ts'
import { TextField } from '../../../../ui/field.tsx'
import type { Service } from '../services.ts'
import type { ImportForm } from './import-form.ts'
import styles from './new-import.module.css'

type OptionFieldsProps = {
  service: Service
  form: ImportForm
  problems: Record<string, string>
  onChange(change: Partial<ImportForm>): void
}

/** Which videos, and how fast. */
export function OptionFields({ service, form, problems, onChange }: OptionFieldsProps) {
  const t = importMessages.new
  const field = (name: 'since' | 'tags' | 'limit' | 'concurrency' | 'bandwidth', hint?: string) => ({
    label: t[name],
    hint,
    value: form[name],
    error: problems[name],
    onChange: (event: { target: { value: string } }) => onChange({ [name]: event.target.value }),
  })
  return (
    <details className={styles.options}>
      <summary>{t.options}</summary>
      <div className={styles.fields}>
        <TextField type="date" {...field('since')} />
        {service.hasTags && <TextField {...field('tags', t.tagsHint)} />}
        <TextField type="number" min={1} {...field('limit')} />
        <TextField type="number" min={1} max={16} {...field('concurrency')} />
        <TextField type="number" min={0.001} step="any" {...field('bandwidth', t.bandwidthHint)} />
      </div>
    </details>
  )
}
