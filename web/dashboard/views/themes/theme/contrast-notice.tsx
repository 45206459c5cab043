import type { ThemeColor } from '../../../api/themes.ts'
import { messages } from '../../../messages/messages.ts'
import { formatNumber } from '../../../ui/format.ts'
import { Icon } from '../../../ui/icon.tsx'
import { Panel } from '../../../ui/panel.tsx'
import type { Color } from './color.ts'
import { findWeaknesses } from './contrast-check.ts'
import styles from './contrast-notice.module.css'

const oneDigit = (value: number) => formatNumber(Math.floor(value * 10) / 10)

/** Says which colors are hard to see. */
export function ContrastNotice({ colors }: { colors: Record<ThemeColor, Color | undefined> }) {
  const weaknesses = findWeaknesses(colors)
  return (
    <Panel title={messages.themes.contrast}>
      <div role="status">
        {weaknesses.length === 0 ? (
          <p className={styles.good}>
            <Icon name="check" size={16} />
            {messages.themes.contrastGood}
          </p>
        ) : (
          <ul className={styles.list}>
            {weaknesses.map(({ color, ratio, needed }) => (
              <li key={color} className={styles.warning}>
                <Icon name="warning" size={16} />
                {messages.themes.contrastText(
                  messages.themes.colors[color],
                  oneDigit(ratio),
                  oneDigit(needed),
                )}
              </li>
            ))}
          </ul>
        )}
      </div>
    </Panel>
  )
}
