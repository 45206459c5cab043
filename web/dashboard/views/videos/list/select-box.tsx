import { messages } from '../../../messages/messages.ts'
import { Icon } from '../../../ui/icon.tsx'
import styles from './select-box.module.css'

type SelectBoxProps = { title: string; isSelected: boolean; onSelect(isRange: boolean): void }

/** Not an input, so that the keys of the dashboard keep working after a click. The key x does the same. */
export function SelectBox({ title, isSelected, onSelect }: SelectBoxProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: see above
    <button
      type="button"
      role="checkbox"
      aria-checked={isSelected}
      aria-label={messages.videos.select(title)}
      tabIndex={-1}
      className={styles.box}
      onClick={(event) => {
        event.stopPropagation()
        onSelect(event.shiftKey)
      }}
    >
      <span className={styles.mark}>{isSelected && <Icon name="check" size={14} />}</span>
    </button>
  )
}
