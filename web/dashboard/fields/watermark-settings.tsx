import { type Corner, corners, placeOf, type WatermarkChoice, watermarkImage } from '../api/watermarks.ts'
import { useEnvironment } from '../app/environment.ts'
import { messages } from '../messages/messages.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import styles from './watermark-settings.module.css'

type WatermarkSettingsProps = { value: WatermarkChoice; onChange(value: WatermarkChoice): void }

/** Where a watermark is in the video, and how it looks there. */
export function WatermarkSettings({ value, onChange }: WatermarkSettingsProps) {
  const environment = useEnvironment()
  const { id, corner, width, opacity } = value
  const t = messages.watermarks
  return (
    <div className={styles.settings}>
      <div className={styles.frame}>
        <img
          className={styles.image}
          src={watermarkImage(environment, id)}
          alt={t.preview}
          style={{ ...placeOf(corner), width: `${width}%`, opacity: opacity / 100 }}
        />
      </div>
      <div className={styles.fields}>
        <SelectField
          label={t.position}
          value={corner}
          onChange={({ target }) => onChange({ ...value, corner: target.value as Corner })}
        >
          {corners.map((each) => (
            <option key={each} value={each}>
              {t.corners[each]}
            </option>
          ))}
        </SelectField>
        <Percentage label={t.width} value={width} onChange={(next) => onChange({ ...value, width: next })} />
        <Percentage
          label={t.opacity}
          value={opacity}
          onChange={(next) => onChange({ ...value, opacity: next })}
        />
      </div>
    </div>
  )
}

type PercentageProps = { label: string; value: number; onChange(value: number): void }

const Percentage = ({ label, value, onChange }: PercentageProps) => (
  <TextField
    type="number"
    label={label}
    required
    min={1}
    max={100}
    // The field is empty while a number is typed.
    value={value || ''}
    onChange={({ target }) => onChange(Math.trunc(Number(target.value)))}
  />
)
