import { useInfiniteQuery } from '@tanstack/react-query'
import { initialWatermark, type WatermarkChoice, watermarkImage, watermarksQuery } from '../api/watermarks.ts'
import { useEnvironment } from '../app/environment.ts'
import { messages } from '../messages/messages.ts'
import styles from './watermark-field.module.css'
import { WatermarkSettings } from './watermark-settings.tsx'

type WatermarkFieldProps = {
  value: WatermarkChoice | undefined
  error: string | undefined
  onChange(value: WatermarkChoice | undefined): void
}

/** Lets the user choose one of the watermarks by its picture. Nothing if there are none. */
export function WatermarkField({ value, error, onChange }: WatermarkFieldProps) {
  const environment = useEnvironment()
  const { data } = useInfiniteQuery(watermarksQuery(environment))
  const watermarks = data?.pages.flatMap((page) => page.data) ?? []
  if (watermarks.length === 0) return null
  const choose = (id: string | undefined) => onChange(id ? { ...initialWatermark, ...value, id } : undefined)
  return (
    <fieldset className={styles.field}>
      <legend className={styles.legend}>{messages.watermarks.one}</legend>
      <div className={styles.choices}>
        {[undefined, ...watermarks.map(({ watermarkId }) => watermarkId)].map((id) => (
          <label key={id ?? ''} className={styles.choice}>
            <input
              type="radio"
              name="watermark"
              className="visually-hidden"
              checked={id === value?.id}
              onChange={() => choose(id)}
            />
            {id ? (
              <img src={watermarkImage(environment, id)} alt={messages.watermarks.image(id)} loading="lazy" />
            ) : (
              messages.states.none
            )}
          </label>
        ))}
      </div>
      {error && (
        <div className="error-text" role="alert">
          {error}
        </div>
      )}
      {value && <WatermarkSettings value={value} onChange={onChange} />}
    </fieldset>
  )
}
