import { importMessages } from '../../../../messages/imports.ts'
import { CheckField } from '../../../../ui/field.tsx'
import type { Service } from '../services.ts'
import type { ImportForm } from './import-form.ts'
import styles from './new-import.module.css'

type PartFieldsProps = { service: Service; form: ImportForm; onChange(change: Partial<ImportForm>): void }

/** What is carried over besides the videos. */
export function PartFields({ service, form, onChange }: PartFieldsProps) {
  if (service.parts.length === 0) return null
  const { partNotes, parts, new: t } = importMessages
  return (
    <fieldset>
      <legend>{t.parts}</legend>
      <div className={styles.choices}>
        {service.parts.map((part) => (
          <CheckField
            key={part}
            label={parts[part]}
            hint={part === 'webhooks' && partNotes[part]}
            checked={form.include.includes(part)}
            onChange={(event) =>
              onChange({
                include: service.parts.filter((each) =>
                  each === part ? event.target.checked : form.include.includes(each),
                ),
              })
            }
          />
        ))}
        {service.keepsIds && (
          <CheckField
            label={t.keepIds}
            hint={t.keepIdsHint}
            checked={form.keepIds}
            onChange={(event) => onChange({ keepIds: event.target.checked })}
          />
        )}
      </div>
    </fieldset>
  )
}
